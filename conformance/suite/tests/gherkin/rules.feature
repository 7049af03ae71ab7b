@feature
Feature: Rules

  Background:
    Given fb

  Scenario: before all rules
    Given s0

  @rule1
  Rule: A
    The rule's description.

    Background:
      Given ab

    @s1
    Example: one
      Given a

  Rule: B

    Example: two
      Given b

  @rule3
  @more
  Rule: C
    Background: again
    Example: three
      * c
