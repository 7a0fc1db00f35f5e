"""What results look like: text, Markdown, pages, charts, JUnit. The registry in `results` names these functions."""
