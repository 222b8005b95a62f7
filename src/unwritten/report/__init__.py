"""Tables, figures and the HTML pages."""
