# before
@a @b
  @c@d
# between
@e #comment @f
@g#h
Feature: Tags

  @s1   @s2
  @s3 # a comment
  Scenario: one
    Given a

  @o
  Scenario Outline: two
    Given <x>

    @e1 @e2
    Examples:
      | x |
      | 1 |

    @e3
    Examples:
      | x |
      | 2 |
