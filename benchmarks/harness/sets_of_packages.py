"""The labelled data sets that `benchmarks.packaged_sets` makes."""

from benchmarks.harness.data_set import DataSet

REUTERS = DataSet(  # as frequent as in the news of 1987
    "reuters_r8", "Reuters R8", ("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade")
)
NEWSGROUPS = DataSet(
    "newsgroups20",
    "20 Newsgroups",
    (
        "alt.atheism", "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware",
        "comp.sys.mac.hardware", "comp.windows.x", "misc.forsale", "rec.autos", "rec.motorcycles",
        "rec.sport.baseball", "rec.sport.hockey", "sci.crypt", "sci.electronics", "sci.med", "sci.space",
        "soc.religion.christian", "talk.politics.guns", "talk.politics.mideast", "talk.politics.misc",
        "talk.religion.misc",
    ),
)  # fmt: skip
BBC_NEWS = DataSet("bbc_news", "BBC News", ("business", "entertainment", "politics", "sports", "tech"))
SLOVENE_FORUM = DataSet("slovene_forum", "Slovene forum", ("Gospodarstvo", "Politika", "Šport", "Drugo"))
WORDNET_NOUNS = DataSet(  # as frequent as in WordNet
    "wordnet_nouns",
    "WordNet nouns",
    (
        "act", "animal", "artifact", "attribute", "body", "cognition", "communication", "event", "feeling", "food",
        "group", "location", "motive", "object", "person", "phenomenon", "plant", "possession", "process",
        "quantity", "relation", "shape", "state", "substance", "time",
    ),
)  # fmt: skip
WORDNET_VERBS = DataSet(
    "wordnet_verbs",
    "WordNet verbs",
    (
        "body", "change", "cognition", "communication", "competition", "consumption", "contact", "creation",
        "emotion", "motion", "perception", "possession", "social", "stative", "weather",
    ),
)  # fmt: skip
LANGUAGES = DataSet(
    "languages",
    "Languages",
    (
        "ca", "cs", "da", "de", "es", "et", "fi", "fr", "hr", "hu", "id", "it", "nl", "pl", "pt", "ro", "sk", "sl",
        "sv", "tr", "vi",
    ),
)  # fmt: skip
REUTERS_52 = DataSet(  # as frequent as in the news of 1987: 44 and 25 % have the two largest labels, 33 labels have at most 30 texts
    "reuters_r52",
    "Reuters R52",
    (
        "acq", "alum", "bop", "carcass", "cocoa", "coffee", "copper", "cotton", "cpi", "cpu", "crude", "dlr", "earn",
        "fuel", "gas", "gnp", "gold", "grain", "heat", "housing", "income", "instal-debt", "interest", "ipi",
        "iron-steel", "jet", "jobs", "lead", "lei", "livestock", "lumber", "meal-feed", "money-fx", "money-supply",
        "nat-gas", "nickel", "orange", "pet-chem", "platinum", "potato", "reserves", "retail", "rubber", "ship",
        "strategic-metal", "sugar", "tea", "tin", "trade", "veg-oil", "wpi", "zinc",
    ),
)  # fmt: skip
FORTUNES = DataSet(  # the files with more than 200 texts; as frequent as there
    "fortunes",
    "Fortune cookies",
    (
        "art", "computers", "cookie", "definitions", "knghtbrd", "literature", "men-women", "miscellaneous", "people",
        "perl", "platitudes", "politics", "science", "songs-poems", "wisdom", "work", "zippy",
    ),
)  # fmt: skip
MOODS = DataSet(  # as frequent as in SenticNet
    "moods",
    "Moods",
    ("anger", "calmness", "disgust", "eagerness", "fear", "joy", "pleasantness", "sadness"),
)
DIAGNOSES = DataSet(  # the chapters of the classification, as frequent as there
    "diagnoses",
    "French diagnoses",
    (
        "infections", "tumours", "blood", "metabolism", "mind", "nerves", "eyes", "ears", "circulation", "breathing",
        "digestion", "skin", "bones and muscles", "urinary and genital organs", "pregnancy", "newborn",
        "malformations", "symptoms", "injuries", "contact with health services",
    ),
)  # fmt: skip
BIBLE = DataSet(  # the books with more than 600 verses; as frequent as there
    "bible",
    "Bible",
    (
        "1 Chronicles", "1 Kings", "1 Samuel", "2 Chronicles", "2 Kings", "2 Samuel", "Acts", "Deuteronomy", "Exodus",
        "Ezekiel", "Genesis", "Isaiah", "Jeremiah", "Job", "John", "Joshua", "Judges", "Leviticus", "Luke", "Mark",
        "Matthew", "Numbers", "Proverbs", "Psalms",
    ),
)  # fmt: skip
PROGRAMS = DataSet(  # the languages with at least 300 pieces out of at least five files; as frequent as there
    "programs",
    "Programs",
    (
        "C", "C++", "Coq", "GAP", "Game Maker Language", "Grammatical Framework", "Java", "JavaScript", "M", "Matlab",
        "Mercury", "Objective-C", "PHP", "Perl", "Propeller Spin", "Python", "Ruby", "XML",
    ),
)  # fmt: skip
