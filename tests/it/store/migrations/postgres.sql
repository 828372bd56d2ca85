-- Describes the schema of a PostgreSQL database, one element a line. Partitions have what their
-- table has.
WITH tables AS (
    SELECT c.oid, c.relname AS name FROM pg_class c
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
        AND NOT c.relispartition AND c.relname <> '_sqlx_migrations'
), keys AS (
    SELECT t.name, k.contype, k.confdeltype, k.confrelid::regclass::text AS other, (
        SELECT string_agg(a.attname, ', ' ORDER BY o.n)
        FROM unnest(k.conkey) WITH ORDINALITY o(num, n)
        JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = o.num) AS own, (
        SELECT string_agg(a.attname, ', ' ORDER BY o.n)
        FROM unnest(k.confkey) WITH ORDINALITY o(num, n)
        JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = o.num) AS others
    FROM tables t JOIN pg_constraint k ON k.conrelid = t.oid
)
SELECT t.name || '.' || a.attname || ' ' || format_type(a.atttypid, NULL)
    || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
    || COALESCE(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
FROM tables t JOIN pg_attribute a ON a.attrelid = t.oid
LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum
WHERE a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT name || ' primary key (' || own || ')' FROM keys WHERE contype = 'p'
UNION ALL
SELECT name || ' unique (' || own || ')' FROM keys WHERE contype = 'u'
UNION ALL
SELECT name || ' foreign key (' || own || ') references ' || other || ' (' || others || ')'
    || CASE confdeltype WHEN 'a' THEN '' WHEN 'c' THEN ' on delete cascade'
       ELSE ' on delete ' || confdeltype::text END
FROM keys WHERE contype = 'f'
UNION ALL
SELECT CASE WHEN x.indisunique THEN 'unique ' ELSE '' END || 'index ' || i.relname || ' on '
    || t.name || ' (' || (
        SELECT string_agg(pg_get_indexdef(i.oid, n, TRUE)
            || CASE x.indoption[n - 1] & 1 WHEN 1 THEN ' desc' ELSE '' END, ', ' ORDER BY n)
        FROM generate_series(1, x.indnkeyatts::integer) n) || ')'
    || COALESCE(' where ' || pg_get_expr(x.indpred, x.indrelid), '')
FROM tables t JOIN pg_index x ON x.indrelid = t.oid JOIN pg_class i ON i.oid = x.indexrelid
WHERE NOT EXISTS (
    SELECT 1 FROM pg_constraint k WHERE k.conindid = i.oid AND k.contype IN ('p', 'u'))
