"""The lab's own part of the domain: scenario texts, runs of two sides, and predictions of what a change does.

What is claimed and how a claim is settled stands in `tutor.claims`; the screens are in `tutor.tui`.
"""
