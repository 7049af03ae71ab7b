Feature: Descriptions
  As somebody
  I want | bars | and """ quotes
  ```
  Given is a word here
  Examples: too

  # a comment
  and on it goes

  Background: b
    | no table |
    Words.

    Given x

  Scenario: s
    """
    words
    """ more
    | a |

    Given y

  Scenario Outline: o
    Words.
    Given <z>

    Examples: e
      Given is a word here, too
      """
      | z |
      | 1 |
