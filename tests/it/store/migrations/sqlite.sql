-- Describes the schema of a SQLite database, one element a line.
WITH tables AS (
    SELECT name FROM sqlite_schema
    WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' AND name <> '_sqlx_migrations'
), lines AS (
    SELECT t.name || '.' || c.name || ' ' || lower(c.type)
        || CASE WHEN c."notnull" OR c.pk > 0 THEN ' not null' ELSE '' END
        || COALESCE(' default ' || c.dflt_value, '') AS line
    FROM tables t, pragma_table_info(t.name) c
    UNION ALL
    SELECT t.name || ' primary key (' || (
        SELECT string_agg(c.name, ', ' ORDER BY c.pk) FROM pragma_table_info(t.name) c
        WHERE c.pk > 0) || ')'
    FROM tables t
    UNION ALL
    SELECT t.name || ' unique (' || (
        SELECT string_agg(i.name, ', ' ORDER BY i.seqno) FROM pragma_index_info(l.name) i) || ')'
    FROM tables t, pragma_index_list(t.name) l WHERE l.origin = 'u'
    UNION ALL
    SELECT t.name || ' foreign key (' || string_agg(f."from", ', ' ORDER BY f.seq)
        || ') references ' || f."table" || ' (' || string_agg(f."to", ', ' ORDER BY f.seq) || ')'
        || CASE f.on_delete WHEN 'NO ACTION' THEN '' ELSE ' on delete ' || lower(f.on_delete) END
    FROM tables t, pragma_foreign_key_list(t.name) f GROUP BY t.name, f.id
    UNION ALL
    SELECT CASE l."unique" WHEN 1 THEN 'unique ' ELSE '' END || 'index ' || l.name || ' on '
        || t.name || ' (' || (
            SELECT string_agg(x.name || CASE x."desc" WHEN 1 THEN ' desc' ELSE '' END, ', '
                              ORDER BY x.seqno)
            FROM pragma_index_xinfo(l.name) x WHERE x.key = 1) || ')'
        || CASE l.partial WHEN 1 THEN
            ' where ' || replace(substr(s.sql, instr(s.sql, 'WHERE ') + 6), char(10), ' ')
           ELSE '' END
    FROM tables t, pragma_index_list(t.name) l, sqlite_schema s
    WHERE l.origin = 'c' AND s.type = 'index' AND s.name = l.name
)
SELECT string_agg(line, char(10)) FROM lines
