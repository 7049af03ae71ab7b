Feature: Backgrounds are not filled in

  Background:
    Given <what> stays

  Scenario Outline: x
    Given <what>
    Examples:
      | what |
      | 1    |
