Feature: No steps

  Background:
    Given b

  Scenario: none

  Scenario: one
    Given a
