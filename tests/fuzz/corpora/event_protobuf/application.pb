
$0b54a5de-7f6c-4a8e-9d0c-9a3f6a2c1d11argobus://principal/hub1.0"*io.argoproj.argocd-agent.event.spec-update*%
datacontenttypeapplication/json*

dataschema*application* 
eventidguestbook_c4f5_4711*$

objversion18446744073709551615*.
partitionkeyapplication/argocd/guestbook*

resourceidguestbook_c4f5*
subjectargocd/guestbook*
time:•Î‹ àÍ‹√*!
writerepoch17673230456789012`{"n": 9007199254740993, "e":1E400,"z":"a\u0000b\ud83d\ude00",
	"spec":{"b":1,"a":[ ]},"-0":-0.0}