"""Language: tokens, dependency trees and scene graphs of captions. Knows text, no metric and no file of the user's."""
