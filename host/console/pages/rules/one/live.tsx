/** What a rule does now: its operators drawn with rates, its figures, what each operator counts. */
import type { Answer } from '../../../../sdk/client.js';
import { Chart } from '../../../parts/chart.js';
import { useRates } from '../../../parts/history.js';
import { fetched } from '../../../parts/loaded.js';
import { bytes, moment, short } from '../../../parts/numbers.js';
import { Scroller } from '../../../parts/scroller.js';
import { t } from '../../../state/language.js';
import { usePolled } from '../../../state/polled.js';
import { ask } from '../../../state/server.js';
import { type GraphProps, operatorsOf, type RatedOperator } from './operators.js';

type Status = Answer<'GET /rules/{id}/status'>;

const Graph = fetched<GraphProps>(async () => (await import('./graph.js')).Graph);

interface LiveProps {
  readonly id: string;
  readonly status: Status;
  readonly time: number;
}

export function Live({ id, status, time }: LiveProps) {
  const operators = operatorsOf(status);
  const run = `${id} ${status.lastStartTimestamp}`;
  const { value: topology } = usePolled(() => ask('GET /rules/{id}/topo', { path: { id } }), 0, [run]);
  const totals = [status.sourceRecordsInTotal ?? 0, status.sinkRecordsOutTotal ?? 0, status.exceptionsTotal ?? 0];
  const rates = useRates(run, time, [...totals, ...operators.flatMap(({ taken, given }) => [taken, given])]);
  const rateOf = (i: number) => rates.series[i]?.at(-1) ?? 0;
  const rated = operators.map((operator, i) => ({ ...operator, in: rateOf(3 + 2 * i), out: rateOf(4 + 2 * i) }));
  const [taken = [], sent = [], errors = []] = rates.series;
  return (
    <>
      {status.message !== '' && <p class="notice bad">{status.message}</p>}
      {status.ended !== undefined && <p class="notice">{status.ended}</p>}
      <section class="card">
        <h2>{t('operators')}</h2>
        {topology !== undefined && <Graph edges={topology.edges} operators={rated} />}
        <Operators operators={rated} />
      </section>
      <div class="halves">
        <section class="card">
          <h2>{t('perSecondTitle')}</h2>
          <Chart
            title={t('perSecondTitle')}
            times={rates.times}
            lines={[
              { label: t('messagesIn'), colour: '--accent' },
              { label: t('messagesOut'), colour: '--good' },
              { label: t('errors'), colour: '--bad' },
            ]}
            series={[taken, sent, errors]}
          />
        </section>
        <Facts status={status} />
      </div>
    </>
  );
}

function Operators({ operators }: { operators: readonly RatedOperator[] }) {
  return (
    <Scroller label={t('operators')}>
      <table>
        <thead>
          <tr>
            <th>{t('operator')}</th>
            <th class="number">{t('inPerSecond')}</th>
            <th class="number">{t('outPerSecond')}</th>
            <th class="number">{t('inTotal')}</th>
            <th class="number">{t('outTotal')}</th>
            <th class="number">{t('latency')}</th>
            <th class="number">{t('waiting')}</th>
            <th class="number">{t('errors')}</th>
            <th>{t('lastError')}</th>
          </tr>
        </thead>
        <tbody>
          {operators.map((one) => (
            <tr key={one.name}>
              <td title={one.name}>{one.label}</td>
              <td class="number">{short(one.in)}</td>
              <td class="number">{short(one.out)}</td>
              <td class="number">{short(one.taken)}</td>
              <td class="number">{short(one.given)}</td>
              <td class="number">{short(one.latencyUs)}</td>
              <td class="number">{short(one.waiting)}</td>
              <td class={`number ${one.errors > 0 ? 'bad' : ''}`}>{short(one.errors)}</td>
              <td class="long">{one.lastError}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  );
}

/** Figures of the rule itself, those of operators stand in their table. */
function Facts({ status }: { status: Status }) {
  const own = Object.entries(status).filter(
    ([name, value]) => !/^(source|op|sink)_|^(status|message|ended)$/.test(name) && value !== '' && value !== 0,
  );
  return (
    <section class="card">
      <h2>{t('figures')}</h2>
      <dl class="facts">
        {own.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{factOf(name, value)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function factOf(name: string, value: number | string | undefined): string {
  if (typeof value !== 'number') return String(value);
  if (name.endsWith('Timestamp')) return moment(value);
  return /bytes/i.test(name) ? bytes(value) : value.toLocaleString();
}
