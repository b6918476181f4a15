"""COCO's 80 classes by their numbers, and the words that everyday captions have for them."""

from __future__ import annotations

_TABLE = """
1 person/people, man/men, woman/women, boy, girl, guy, lady, gentleman/gentlemen, child/children,
  kid, baby, toddler, teenager, player, singer, dancer, chef, actor, actress, reporter,
  soldier, wrestler, athlete
2 bicycle, bike
3 car, vehicle, automobile, suv, sedan, jeep
4 motorcycle, motorbike, scooter, moped, bike
5 airplane, plane, aeroplane, aircraft/aircraft, jet
6 bus
7 train, locomotive
8 truck, lorry, pickup
9 boat, ship, canoe, kayak, sailboat, yacht
10 traffic light, stoplight
11 fire hydrant, hydrant
13 stop sign
14 parking meter
15 bench
16 bird, duck, parrot, eagle, pigeon, goose/geese
17 cat, kitten, kitty
18 dog, puppy, pup
19 horse, pony
20 sheep/sheep, lamb
21 cow, cattle/cattle, bull, calf/calves
22 elephant
23 bear, panda
24 zebra
25 giraffe
27 backpack, rucksack
28 umbrella, parasol
31 handbag, purse, bag
32 tie, necktie
33 suitcase, luggage/luggage
34 frisbee
35 ski/skis
36 snowboard
37 sports ball, ball, football, basketball, baseball, volleyball
38 kite
39 baseball bat, bat
40 baseball glove, mitt
41 skateboard
42 surfboard
43 tennis racket, racket, racquet
44 bottle
46 wine glass, glass, goblet
47 cup, mug
48 fork
49 knife/knives
50 spoon
51 bowl
52 banana
53 apple
54 sandwich, burger, hamburger
55 orange
56 broccoli/broccoli
57 carrot
58 hot dog, hotdog
59 pizza
60 donut, doughnut
61 cake, cupcake
62 chair
63 couch, sofa
64 potted plant, plant
65 bed
67 dining table, table, desk
70 toilet
72 tv, television, monitor
73 laptop, computer
74 mouse/mice
75 remote, remote control
76 keyboard
77 cell phone, phone, cellphone, smartphone, iphone
78 microwave
79 oven, stove
80 toaster
81 sink
82 refrigerator, fridge
84 book
85 clock
86 vase
87 scissors/scissors
88 teddy bear, teddy, toy, stuffed animal
89 hair drier, hair dryer, hairdryer
90 toothbrush
"""
"""Singular, or singular/plural where the plural is not made by the rule. The first is the name."""


def list_forms(noun: str) -> tuple[str, ...]:
    """A noun, or "singular/plural", in both numbers."""
    singular, _, plural = noun.partition("/")
    return tuple(dict.fromkeys((singular, plural or _pluralise(singular))))


def _pluralise(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in {"", *"aeiou"}:
        return f"{noun[:-1]}ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def _read(table: str) -> dict[int, tuple[str, ...]]:
    classes: dict[int, tuple[str, ...]] = {}
    for line in table.replace("\n  ", " ").strip().splitlines():
        number, _, nouns = line.partition(" ")
        classes[int(number)] = tuple(
            form for noun in nouns.split(", ") for form in list_forms(noun)
        )
    return classes


_CLASSES = _read(_TABLE)
NAMES = {number: words[0] for number, words in _CLASSES.items()}
"""Number to name."""
WORDS = {words[0]: words for words in _CLASSES.values()}
"""Name to the words and phrases that mean such a thing."""
