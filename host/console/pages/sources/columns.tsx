/** Columns of a stream as its last messages have them; at a click the stream declares them. */
import { useEffect, useState } from 'preact/hooks';
import { Making, TextField } from '../../parts/forms/making.js';
import { Scroller } from '../../parts/scroller.js';
import { t } from '../../state/language.js';
import { usePolled } from '../../state/polled.js';
import { ask } from '../../state/server.js';
import { useRun } from '../playground/run.js';
import { declared, type GuessedColumn, guessed, quoted } from './guess.js';

export function GuessedColumns({ stream, done }: { stream: string; done: () => void }) {
  const run = useRun();
  useEffect(() => run.start({ sql: `SELECT * FROM ${quoted(stream)}` }), [stream]);
  const { value: known } = usePolled(() => ask('GET /streams/{id}', { path: { id: stream } }), 0, [stream]);
  const [own, setOwn] = useState<string>();
  const rows = run.rows.filter(({ isError }) => !isError).map(({ row }) => row);
  const columns = guessed(rows);
  const sql = own ?? (known === undefined ? '' : declared(stream, columns, known.Options));
  const wrong = run.error ?? run.rows.find(({ isError }) => isError)?.row.error;
  const make = () => {
    run.stop();
    return ask('PUT /streams/{id}', { path: { id: stream }, body: { sql } });
  };
  return (
    <Making make={make} done={done} word="save" isReady={columns.length > 0}>
      <p class="faint">{t('guessHint')}</p>
      {(known?.StreamFields ?? []).length > 0 && <p class="notice">{t('guessDeclared')}</p>}
      <p role="status">{run.count === 0 ? t('noRowsYet') : t('guessedFrom', { n: rows.length })}</p>
      {run.note !== '' && <p class="notice">{run.note}</p>}
      {wrong !== undefined && <p class="notice bad">{String(wrong)}</p>}
      {columns.length > 0 && <Table columns={columns} rows={rows.length} />}
      {columns.length > 0 && <TextField label={t('statement')} rows={5} text={sql} onText={setOwn} />}
    </Making>
  );
}

function Table({ columns, rows }: { columns: readonly GuessedColumn[]; rows: number }) {
  return (
    <Scroller label={t('columnsTyped')}>
      <table>
        <thead>
          <tr>
            <th>{t('name')}</th>
            <th>{t('type')}</th>
            <th class="number">{t('rowsWith')}</th>
            <th>{t('example')}</th>
          </tr>
        </thead>
        <tbody>
          {columns.map(({ name, type, seen, example }) => (
            <tr key={name}>
              <td>{name}</td>
              <td class="mono">{type}</td>
              <td class="number">{t('shown', { n: seen, all: rows })}</td>
              <td class="long mono">{JSON.stringify(example)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  );
}
