"""One module a screen, with its style sheet beside it; a screen is imported when it is first opened."""
