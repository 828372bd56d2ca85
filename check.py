import sqlite3,json,sys
d=json.load(open(sys.argv[1])); db=sqlite3.connect(f'file:{sys.argv[2] if len(sys.argv)>2 else "data/chatkeep.db"}?mode=ro',uri=True)
got={r[0]:r[1:] for r in db.execute('select message_id,channel_id,content,unsent_at,edited_at,skipped from messages')}
miss=[k for k in d['acked'] if k not in got]; wrongc=[k for k,v in d['acked'].items() if k in got and got[k][0]!=v]
un=set(d['unsent']); notun=[k for k in un if k in got and got[k][2] is None]; cont=[k for k in un if k in got and got[k][1] is not None]
lost=[k for k in d['acked'] if k in got and got[k][1] is None and k not in un]
ed=[k for k,v in d['edited'].items() if k not in un and k in got and v not in (got[k][1] or '')]
print('acked',len(d['acked']),'missing',len(miss),miss[:3],'wrong channel',len(wrongc),'unsent',len(un),'not unsent',len(notun),'unsent with content',len(cont),'content lost',len(lost),lost[:3],'edits',len(d['edited']),'edit missing',len(ed),ed[:2])
print(db.execute("select status,count(*) from media group by 1").fetchall())
