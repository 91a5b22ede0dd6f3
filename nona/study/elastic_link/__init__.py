"""What not seeing the link costs elastic jobs: every policy with and without a link that others use too."""
