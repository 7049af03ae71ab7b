Feature: Doc strings

  Scenario: all forms
    Given plain
      """
      first line (no indent)
        second line (indented with two spaces)

      third line was empty
      """
    And the other quotes
      ```
      Open with three backticks, so """ is text
      ```
    And a media type
      """json
      {"a": "\\n"}
      """
    And a media type with spaces
      ``` text/x  y
      \`\`\` escaped, \"\"\" is not
      ```
    And escaped quotes
      """
      \"\"\" and \` and \\ and \"
      """
    And nothing
      """
      """
    And one blank line
      """

      """
    And less margin than the quotes
        """
      two
          ten
  zero
        """
    And what would else be something
      """
      Feature: no
      # no comment
      @no-tag
      | no | table |
      Scenario: no
      """
    And trailing spaces
      """
      a  
         
      b
      """
    And a closing line that goes on
      """
      x
      """ ignored
    And tabs
		"""
		one
			two
		"""

  Scenario Outline: <x>
    Given <x>
      | \n | a |
    Examples:
      | x |
      | 1 |
