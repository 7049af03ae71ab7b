Feature: Tables

  Scenario: all forms
    Given a table
      | foo | bar |
      | boz | boo |
    And one cell
      |x|
    And escapes
      | \| | \\ | \n | a\nb | \x | \\n | \\\| |
    And empty cells and spaces
      |  |   a b   |	|
      |||x|
    And blank lines and comments in between
      | 1 |

      # not a row | 9 |
      | 2 |
    And a margin that was escaped
      | \n x \n |
    And other letters
      | ÄÖÜ | 日本 |  nbsp  |
