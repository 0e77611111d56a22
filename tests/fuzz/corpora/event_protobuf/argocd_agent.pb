1.0"*io.argoproj.argocd-agent.event.spec-update*%
datacontenttypeapplication/json*

dataschema*application* 
eventidguestbook_c4f5_4711*6
principaluid&$7d0a3c5e-2a8c-4f53-b6f1-64b6a35c0a77*

resourceidguestbook_c4f52!{"metadata":{"name":"guestbook"}}