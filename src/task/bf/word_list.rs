//! Words of five letters that a child may read.

/// All of them, in lower case, with spaces between.
pub(super) const WORDS: &str = "\
about above acorn acted actor adapt admit adobe adopt adult after again agent agile agree ahead aisle alarm album \
alert alike alive alley allow alone along aloud alpha amber amend among ample angel ankle apart apple apron arena \
argue arise armor arrow aside asset atlas attic audio aunts avoid awake award aware bacon badge bagel baker basic \
basil basin basis batch beach beads beans beard began begin being bells below bench berry bingo birch birds birth \
black blade blank blaze blend block bloom board boats bonus boost booth bound brain brand brave bread break brick \
bride brief bring broad brook broom brown brush build bunch cabin cable camel candy canoe cards cargo carol carry \
catch cause cedar chain chair chalk charm chart chase cheek cheer chess chest chief child chime chips choir chore \
cider cinch claim class clean clear clerk click cliff climb clock cloth cloud clown coach coast cobra cocoa comet \
comic coral couch count court cover craft crane crate cream creek crisp crowd crown crust cubic curve cycle daily \
dairy daisy dance debut decor delta depth derby diary diner disco ditch diver dodge doing donut doors doubt dough \
dozen draft drain drama dream dress drift drink drive drums eager eagle early earth easel eaten eight elbow elder \
elect elite empty enjoy enter entry equal essay event every exact exist extra fable faith fancy favor feast fence \
ferry fetch fever fiber field fifty final first flame flash fleet float flock floor flour flute focus forge forty \
found frame fresh front frost fruit fudge funny gamer gecko genre giant given glass gleam glide globe glory glove \
going goose grace grade grain grand grape graph grass great green greet grill group grove grown guard guess guest \
guide habit happy hatch hazel heart heavy hedge hello heron hinge hobby honey honor horse hotel house human humor \
hurry icing ideal image index inlet inner input irony issue ivory jelly jewel joint jolly judge juice jumbo kayak \
kiosk kites knack kneel knock known koala label ladle lakes large laser later laugh layer leafy learn lemon level \
lever light lilac limit linen liner llama local lodge logic loyal lucky lunar lunch lyric magic major mango manor \
maple march marsh match maybe mayor medal melon mercy merge merit merry metal meter mimic minor mixed model money \
month moral motor mount mouse movie mural music nasal never niece night noble noise north novel nurse ocean olive \
onion onset opera orbit order other otter outer owner oxide paint panda panel paper parka party pasta patch pause \
peace peach pearl pedal penny perch piano piece pilot pinch pixel pizza place plain plane plant plate plaza point \
polar poppy porch power press pride prism prize proof proud pulse punch puppy purse quack quail queen quest quick \
quiet quilt quota quote radar radio rainy ranch range rapid raven reach ready realm relax relay reply rhyme rider \
ridge right rigid rinse risen river roast robin robot rocky rodeo roman round route rover royal ruler rural salad \
salsa sandy sauce scale scarf scene scent scone scoop scope score scout seeds seven shade shake shape share sharp \
sheep sheet shelf shell shine shiny shirt shore short shrub sixth skate skill slate sleep slice slide slope small \
smart smile smoke snack snail snowy solar solid solve songs sound south space spark speak spell spend spice spine \
spoon sport spray squad stack staff stage stair stamp stand stars start steam steel steep stick still stone stool \
store storm story stove straw study style sugar sunny surfs swamp swift swing sword syrup table tally tango tasty \
teach tempo tenor tenth thank theme thick thing think third three throw thumb tidal tiger tight timer title toast \
today token tooth topaz topic torch total touch tower track trade trail train treat trend trial tribe trout truck \
trunk trust truth tulip tunic tutor twice twins uncle under union unity until upper urban usual valid value valve \
vapor vault vegan verse video views villa vinyl visit vital vivid vocal voice voter wagon waltz watch water waves \
weave wheat wheel where whisk white whole width windy witty world worth wrist write yacht yearn yeast young youth \
zebra zesty";
