"""What stands among wordfreq's most frequent English tokens and is no plain word; left out when word items are made.

Judged by hand over the tokens of 2 to 5 letters in the top 20,000. Names of people and places stay: they can be read.
"""

_ABBREVIATIONS = """
aa aaa ab abc abi abu ac aca acc acl adhd ae af afc afl afp ag aj ak aka al ama amc amd amp ans ao ap apa api apr apt
ar asa asap atm atp au aug av avg az bb bbc bbq bc bd bdsm bf bg bjp bk bl blm blvd bm bmi bmw bn bp br bs bt btc btw
bu ca cas cb cba cbc cbd cbi cbs cc cctv cd cdc cds ce ceo ceos cf cg cgi ch ci cia cio cj ck cl cm cms cn cnn com
comm comp cp cpr cps cpu cr cs css ct cu cv cvs cw cy db dc dd de dea dec dei dem dept det dev df dh di diaz dj djs dk
dl dlc dm dna dnc dod doj dom dp dr ds dt du dui dvd dvds ea ec eco ed eds edt ee eg el eng ent ep epa eps eq er es
esp espn est et etc eu eur ev exec faa fb fbi fc fcc fda fe feb ff ffs fg fi fifa fl fm fn fo fps fr fri fro fs ft fu
fx fyi ga gb gc gdp ge gf gg ghz gi gifs gl gm gma gmt gop govt gp gpa gps gr gs gst gt gta gu gui hb hbo hc hd hdmi
hiv hk hm hms hp hq hr hrs hs ht htc html http https hu hz ia ib ibm ic icc ict idf idk ids ie ieee ig ii iii ik il
imf imo inc ind info ing int io ip ipa ipad ipo ipod iq ir irl isil iso iss ist iu iv ix ja jan jc jd je jfk ji jj jk
jp jr js jt ju jul jun ka kb kc kd ke kg kgb ki km ko ks ku kw ky lb lbs lc lcd ld le lf lg lgbt lgbtq li lil llc lmao
lmfao ln lp lr ls lsu lt ltd lte lu lv ly mb mba mc md mf mg mhz mj mk ml mla mlb mls mm mma mn mo mp mph mps mr mri
mrs ms msnbc mt mtv mv mvp mw mx na nasa nato nb nba nbc nc ncaa nd ndp ne nec neo nfc nfl ng ngo ngos nh nhl nhs ni
nih nj nk nl nm nos nov np npr nr nra nrl ns nsa nsfw nsw nu nv nw nxt ny nyc nypd nz obi oc ocd oct od oecd oem ofc
og oi omg org os ot ou pac pb pbs pc pcs pd pdf pf pg pga ph phd php pics pk pl plc pls pm png po pos pov pp ppl ppp
pr pre pres ps psa psg pst pt pts ptsd pu pv qb qc qi ra rb rbi rc rd rf rh ri rl rm rn rna ro roc roi rp rpg rpm rr
rs rss rt ru rv rx sa sas sb sbs sc sd se sec seo sep sf sg sgt sh si sk sl sm smh sms snp soc sp sq sql sr ss st std
su suv sw ta tb tbh tc td tds te tel tf th thc tj tl tlc tm tn tnt tp tr ts tsa tt tu tv tvs tx ty uae uc ucla uefa
ufc ufo ui uk ukip ul un unc und ur url usa usb usc usd usda uss ussr ut utc uv va vc ver vhs vi vie vii viii vip vol
vols vp vpn vr vs vt vw wa wb wc wh wi wifi wii wm wp wr ws wt wtf wu ww wwe wwii www xbox xd xi xii xiii xiv xl xp xv
xvi xx xxx yr yrs yu
"""
_FRAGMENTS = """
aint alot arent cant cuz didn didnt doin dont goin hes im isnt ive ll nt shes thats til ve wasnt youre
"""
_INTERJECTIONS = """
aha ahh ahhh aww err heh hmm hmmm mmm ohh ohhh ooh ooo oooh soo sooo uhh umm
"""
_OBSCENE = """
anal arse ass bitch boob boobs cum cunt dicks dildo fag fuck fucks horny milf negro nigga penis piss porn pussy rape
raped rapes semen shit shits slut tit tits whore
"""

STOP_WORDS: frozenset[str] = frozenset(f"{_ABBREVIATIONS} {_FRAGMENTS} {_INTERJECTIONS} {_OBSCENE}".split())
