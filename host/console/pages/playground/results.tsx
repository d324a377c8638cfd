/** Rows of a run as they come: a table of the last ones, and lines of their numbers. */
import { useState } from 'preact/hooks';
import { Chart } from '../../parts/chart.js';
import { short } from '../../parts/numbers.js';
import { Scroller } from '../../parts/scroller.js';
import { t } from '../../state/language.js';
import type { Arrived, Run } from './run.js';

/** Rows of the table, and columns that are drawn as lines. */
const mostShown = 50;
const colours = ['--accent', '--good', '--bad', '--warn'];

export function Results({ run: { isOn, rows, count, note, error } }: { run: Run }) {
  const [isChart, setChart] = useState(false);
  const columns = [...new Set(rows.slice(0, mostShown).flatMap(({ row }) => Object.keys(row)))];
  return (
    <section class="card" aria-label={t('run')}>
      <header>
        <h2>{t('results')}</h2>
        <span class="row">
          {count > 0 && <span class="tag">{t('rowsCount', { n: short(count) })}</span>}
          {count > 0 && (
            <span class="tabs">
              <button type="button" aria-pressed={!isChart} onClick={() => setChart(false)}>
                {t('table')}
              </button>
              <button type="button" aria-pressed={isChart} onClick={() => setChart(true)}>
                {t('chart')}
              </button>
            </span>
          )}
        </span>
      </header>
      <div role="status">
        {error !== undefined && <p class="notice bad">{error}</p>}
        {note !== '' && <p class="notice">{note}</p>}
        {isOn && count > 0 && <span class="hidden">{t('rowsCome')}</span>}
        {isOn && count === 0 && error === undefined && <p class="faint">{t('noRowsYet')}</p>}
        {!isOn && count === 0 && error === undefined && note === '' && <p class="faint">{t('notRun')}</p>}
      </div>
      {count > 0 && (isChart ? <Lines rows={rows} columns={columns} /> : <Table rows={rows} columns={columns} />)}
    </section>
  );
}

interface RowsProps {
  readonly rows: readonly Arrived[];
  readonly columns: readonly string[];
}

function Table({ rows, columns }: RowsProps) {
  return (
    <Scroller label={t('results')}>
      <table>
        <thead>
          <tr>
            <th class="number count">#</th>
            {columns.map((name) => (
              <th key={name} class={typeof rows[0]?.row[name] === 'number' ? 'number' : ''}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, mostShown).map(({ number, row, isError }) => (
            <tr key={number} class={isError ? 'bad' : ''}>
              <td class="number faint">{number}</td>
              {columns.map((name) => (
                <td key={name} class={typeof row[name] === 'number' ? 'number' : ''}>
                  {cellOf(row[name])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  );
}

function cellOf(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The first columns with numbers, a line each, by the number of the row. */
function Lines({ rows, columns }: RowsProps) {
  const numeric = columns
    .filter((name) => rows.some(({ row }) => typeof row[name] === 'number'))
    .slice(0, colours.length);
  if (numeric.length === 0) return <p class="faint">{t('noNumbers')}</p>;
  const inOrder = rows.toReversed();
  return (
    <Chart
      title={t('results')}
      isOverTime={false}
      lines={numeric.map((label, i) => ({ label, colour: colours[i]! }))}
      times={inOrder.map(({ number }) => number)}
      series={numeric.map((name) => inOrder.map(({ row }) => (typeof row[name] === 'number' ? row[name] : null)))}
    />
  );
}
