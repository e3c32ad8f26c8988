"""The terminal face: screens that show the domain and pass keys on to it; no rule of the interview lives here."""
