/** Streams and tables. */
import { badId, badIdReason, rule, stream, streamSql, table, tableSql } from './given.js';
import { type Case, cases, type Given } from './run.js';

interface Kind {
  readonly one: 'stream' | 'table';
  readonly id: string;
  readonly sql: string;
  readonly given: Given;
  readonly other: Given;
  readonly details: string;
}

function casesOf({ one, id, sql, given, other, details }: Kind): Case[] {
  const Title = one === 'stream' ? 'Stream' : 'Table';
  const all = `/${one}s`;
  const mine = `${all}/${id}`;
  const isThere = [given];
  const nothing: Given[] = [];
  const onlyOther = [other];
  const refused = `${Title} command error`;
  const wider = sql.replace('(a BIGINT', '(c FLOAT, a BIGINT');
  return [
    ...cases(`POST ${all}`, nothing, [all, { sql }, 201, `${Title} ${id} is created.`]),
    ...cases(`POST ${all}`, nothing, [all, { sql: `SHOW ${one}s` }, 201, `No ${one} definitions are found.`]),
    ...cases(`POST ${all}`, isThere, [all, { sql: `DROP ${one} ${id}` }, 201, `${Title} ${id} is dropped.`]),
    ...cases(
      `POST ${all}`,
      isThere,
      [all, { sql }, 400, `${refused}: create ${one} fails: ${id} already exists`],
      [all, { sql: `DROP ${one} none` }, 400, `drop ${one} fails: none is not found`],
      [all, { sql: `DESCRIBE ${one} none` }, 400, `${one} none is not found`],
      [all, { sql: 'SELECT a FROM s' }, 400, 'the statement must be CREATE, SHOW, DESCRIBE, EXPLAIN or DROP'],
      [all, { sql: `CREATE ${one} x (a NOTYPE) WITH (DATASOURCE="t")` }, 400, 'NOTYPE'],
      [all, { sql: `CREATE ${one} x (a BIGINT` }, 400, refused],
      [all, { sql: `CREATE ${one} x () WITH (DATASOURCE="t", FORMAT="custom")` }, 400, 'FORMAT'],
      [all, { sql: '' }, 400, refused],
      [all, {}, 400, refused],
      [all, { sql: 5 }, 400, 'sql must be a text, not 5'],
    ),
    ...cases(`GET ${all}`, isThere, [all, undefined, 200, `["${id}"]`]),
    ...cases(`GET ${all}`, onlyOther, [all, undefined, 200, '[]']),
    ...cases(`GET /${details}`, isThere, [`/${details}`, undefined, 200, '"type":"memory"']),
    ...cases(
      `GET ${all}/{id}`,
      isThere,
      [mine, undefined, 200, `"Name":"${id}"`],
      [`${all}/none`, undefined, 400, `describe ${one} error: ${one} none is not found`],
      [`${all}/${badId}`, undefined, 400, badIdReason],
    ),
    ...cases(`GET ${all}/{id}`, onlyOther, [mine, undefined, 400, `${one} ${id} is not found`]),
    ...cases(
      `GET ${all}/{id}/schema`,
      isThere,
      [`${mine}/schema`, undefined, 200, '"a":{'],
      [`${all}/none/schema`, undefined, 400, `${one} none is not found`],
      [`${all}/${badId}/schema`, undefined, 400, badIdReason],
    ),
    ...cases(`PUT ${all}/{id}`, isThere, [mine, { sql: wider }, 200, `${Title} ${id} is updated.`]),
    ...cases(`PUT ${all}/{id}`, nothing, [mine, { sql }, 200, `${Title} ${id} is updated.`]),
    ...cases(
      `PUT ${all}/{id}`,
      isThere,
      [`${all}/other`, { sql }, 400, `the sql statement must create the ${one} other`],
      [mine, { sql: other[1] && (other[1] as { sql: string }).sql }, 400, `must create the ${one} ${id}`],
      [mine, { sql: `DROP ${one} ${id}` }, 400, `must create the ${one} ${id}`],
      [mine, { sql: 'CREATE' }, 400, refused],
      [mine, {}, 400, refused],
      [mine, { sql: [] }, 400, 'sql must be a text, not []'],
      [`${all}/${badId}`, { sql }, 400, badIdReason],
    ),
    ...cases(`DELETE ${all}/{id}`, isThere, [mine, undefined, 200, `${Title} ${id} is dropped.`]),
    ...cases(
      `DELETE ${all}/{id}`,
      isThere,
      [`${all}/none`, undefined, 404, `drop ${one} fails: none is not found`],
      [`${all}/${badId}`, undefined, 400, badIdReason],
    ),
    ...cases(`DELETE ${all}/{id}`, onlyOther, [mine, undefined, 404, 'is not found']),
  ];
}

const used: Given[] = [stream, ['POST /rules', rule('r')]];

export const streams: readonly Case[] = [
  ...casesOf({ one: 'stream', id: 's', sql: streamSql, given: stream, other: table, details: 'streamdetails' }),
  ...casesOf({ one: 'table', id: 't', sql: tableSql, given: table, other: stream, details: 'tabledetails' }),
  ...cases('DELETE /streams/{id}', used, [
    '/streams/s',
    undefined,
    400,
    'stream s has been referenced by other rules: r',
  ]),
  ...cases('DELETE /streams/{id}', used, ['/streams/s?force=true', undefined, 200, 'Stream s is dropped.']),
  ...cases('GET /tables', [table], ['/tables?kind=lookup', undefined, 200, '[]']),
  ...cases('GET /tables', [table], ['/tables?kind=scan', undefined, 200, '["t"]']),
];
