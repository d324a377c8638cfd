/** The sql connector and an imitation of SQL Server: what it is asked, and what its answers become. */
import { createRequire } from 'node:module';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectorOf } from '../../../../host/connectors/index.js';
import { readSql, sendSql } from '../../../support/connectors/sql.js';
import { announceSkip, eventually } from '../../../support/harness.js';
import { openTds, type TdsAnswer } from '../../../support/servers/tds.js';

function hasTedious(): boolean {
  try {
    createRequire(import.meta.url).resolve('tedious');
    return true;
  } catch {
    return false;
  }
}

const isThere = hasTedious();
if (!isThere) announceSkip('the sql connector at SQL Server', 'the package tedious is not installed');
const withTedious = isThere ? test : test.skip;

if (!isThere) {
  test('without its package the reason says what to install', async () => {
    const { connection } = connectorOf('sql')!;
    const error = await connection!.ping!({ dburl: 'sqlserver://u:p@127.0.0.1/x' }).catch((reason) => reason);
    assert.is(error.kind, 'config');
    assert.match(error.message, /need the package tedious, which is not installed: npm install tedious/);
  });
}

withTedious('a source asks with TOP and parameters, and gets exact values', async () => {
  const double = await openTds();
  double.answer = (statement): TdsAnswer => {
    if (/sys\.columns/.test(statement)) {
      const columns = [
        { name: 'name', type: 'nvarchar' },
        { name: 'type', type: 'nvarchar' },
      ] as const;
      return { columns, rows: [['id', 'bigint']] };
    }
    const columns = [
      { name: 'id', type: 'bigint' },
      { name: 'ok', type: 'bit' },
      { name: 'name', type: 'nvarchar' },
      { name: 'at', type: 'datetime2' },
      { name: 'none', type: 'int' },
    ] as const;
    const isFirst = double.statements.filter((one) => one.includes('TOP')).length === 1;
    const row = [9007199254740993n, 1, 'ä', '2026-01-02T03:04:05.1234567', null];
    return { columns, rows: isFirst ? [row] : [] };
  };
  const internalSqlQueryCfg = { table: 'log', limit: 5, indexField: 'id', indexValue: 7 };
  const { source, texts } = await readSql(double.url, { internalSqlQueryCfg });
  await eventually('a second query', () => double.statements.filter((one) => one.includes('TOP')).length > 1);
  await source.close();
  assert.equal(texts(), [
    '{"id":9007199254740993,"ok":true,"name":"ä","at":"2026-01-02T03:04:05.1234567Z","none":null}',
  ]);
  const query = double.statements.find((one) => one.includes('TOP'))!;
  assert.match(query, /SELECT TOP 5 \* FROM \[log\] WHERE \[id\] > @p1 ORDER BY \[id\] ASC/);
  await double.close();
});

withTedious('rows are written; one that is refused takes no other with it', async () => {
  const double = await openTds();
  let inserts = 0;
  double.answer = (statement): TdsAnswer => {
    if (/sys\.columns/.test(statement)) {
      const columns = [
        { name: 'name', type: 'nvarchar' },
        { name: 'type', type: 'nvarchar' },
      ] as const;
      return {
        columns,
        rows: [
          ['id', 'int'],
          ['a]b', 'int'],
        ],
      };
    }
    if (!/INSERT/.test(statement)) return { changed: 0 };
    inserts++;
    return /bad/.test(statement) ? { error: 245, message: 'Conversion failed' } : { changed: 1 };
  };
  const metrics = await sendSql(double.url, [{ id: 1 }, { id: 'bad' }, { id: 3 }], { table: 'dbo.t]x' });
  assert.is(metrics.sinkRecordsFailedTotal, 1);
  assert.is(metrics.sinkRecordsOutTotal, 2);
  assert.ok(inserts >= 3);
  assert.ok(double.statements.some((one) => one.includes('INSERT INTO [dbo.t]]x] ([id]) VALUES (@p1)')));
  assert.ok(double.statements.some((one) => /SAVE TRANSACTION haumea/.test(one)));
  await double.close();
});

withTedious('a server that is absent is told', async () => {
  const double = await openTds();
  await double.close();
  const { connection } = connectorOf('sql')!;
  const error = await connection!.ping!({ dburl: double.url }).catch((reason) => reason);
  assert.is(error.kind, 'connection');
  assert.match(error.message, /ECONNREFUSED|connect/);
  assert.not.match(error.message, /secret/);
});

test.run();
