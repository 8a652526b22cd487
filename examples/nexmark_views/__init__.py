"""NEXMark's queries as views: what they come to over the events so far, kept up to date."""
