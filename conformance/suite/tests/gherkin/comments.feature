# one
  # two
Feature: Comments # no comment
# three
  Scenario: # a name
    # four
    Given a # b
    # five
      """
      # text
      """
    # six
    # language: de
    When c
      # seven
      | # d |
#eight
