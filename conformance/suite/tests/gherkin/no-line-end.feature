Feature: Minimal
  Scenario: ends at once
    Given the end