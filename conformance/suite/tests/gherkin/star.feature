Feature: Stars

  Scenario: bullets
    * one
    *  two
    Given three
    * four
