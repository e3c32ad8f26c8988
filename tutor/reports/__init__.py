"""What a person reads afterwards: the report of an interview, and progress over weeks."""

from tutor.reports.html import as_html
from tutor.reports.interview import Held, held, last_held, report_of
from tutor.reports.markdown import as_markdown
from tutor.reports.models import Report, ReportError

__all__ = ["Held", "Report", "ReportError", "as_html", "as_markdown", "held", "last_held", "report_of"]
