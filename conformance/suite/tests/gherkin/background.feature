Feature: Background
  Words about the feature.

  Background: with a name
    Words about the background.
    Given the minimalism inside a background

  Scenario: one
    Given the minimalism

  Scenario: two
    And more of it
