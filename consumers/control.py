"""What people decide: policies and proposals.

A policy changes what every later decision of its fleet is, so this topic has an access list of its
own, and no other topic carries its family: whoever may report a node may not thereby set a policy.
"""

from typing import Final

from consumers.topic import Topic

TOPIC: Final = Topic("control", frozenset({"control"}))
