"""The 32 texts that a teacher without a hash answers, so that another function or service under the same name is noticed.

They are fixed, so that any two runs can be compared, and of many subjects, so that most changes show.
"""

PROBE_TEXTS = (
    "I was charged twice for the same order.",
    "Please refund my last invoice.",
    "The app crashes when I open the settings.",
    "I cannot log in, my password is not accepted.",
    "My parcel is late and nobody answers.",
    "The courier left the box at the wrong door.",
    "How do I change my address?",
    "Cancel my subscription at the end of the month.",
    "What a wonderful film, I would watch it again.",
    "The food was cold and the waiter was rude.",
    "It was fine, nothing special.",
    "The battery lasts two hours at most.",
    "Stocks fell sharply after the central bank raised its rates.",
    "The home team won three to one in the final.",
    "Parliament passed the new budget on Thursday.",
    "Scientists found a new planet near a distant star.",
    "The patient has a fever, a cough and pain in the chest.",
    "Take one tablet twice a day after meals.",
    "The tenant must give three months' notice in writing.",
    "Win a free prize now, click on this link!",
    "You are an idiot and nobody likes you.",
    "Thank you so much for your help!",
    "What will the weather be like tomorrow in Paris?",
    "Play the next song.",
    "Set an alarm for seven in the morning.",
    "def add(a, b): return a + b",
    "Ich habe meine Bestellung noch nicht erhalten.",
    "El producto llegó roto y quiero devolverlo.",
    "Je voudrais réserver une table pour deux personnes.",
    "这个产品的质量非常好。",
    "ok",
    "1234567890",
)
