Feature: What is filled in

  Scenario Outline: <type> in arguments
    Given a text:
      """<type>
      one <content>
        two <content>
      """
    And a table:
      | name      | <head> |
      | <content> | x<content>y |
    And an arrow -> or 1 < 2 > 1 stays

    Examples:
      | type | content | head |
      | json | \| \\ \n  | H    |
