/** One report: its figures as a table, and drawn. */
import type { Answer } from '../../../sdk/client.js';
import { Chart } from '../../parts/chart.js';
import { moment, short } from '../../parts/numbers.js';
import { Scroller } from '../../parts/scroller.js';
import { t } from '../../state/language.js';
import { usePolled } from '../../state/polled.js';
import { linkTo } from '../../state/route.js';
import { ask } from '../../state/server.js';
import type { Word } from '../../state/words.js';

type ReportAnswer = Answer<'GET /reports/{name}'>;
type Members = Readonly<Record<string, unknown>>;

export function Report({ name }: { name: string }) {
  const { value, error } = usePolled(() => ask('GET /reports/{name}', { path: { name } }), 0, [name]);
  return (
    <div class="page">
      <header>
        <h1>
          <a href={linkTo('reports')}>{t('reports')}</a> / {name}
        </h1>
        {value !== undefined && <span class="faint">{moment(value.at)}</span>}
      </header>
      {error !== undefined && <p class="notice bad">{error}</p>}
      {value === undefined && error === undefined && <p class="faint">{t('loading')}</p>}
      {value !== undefined && <Shown {...value} />}
    </div>
  );
}

function Shown({ kind, report, samples }: ReportAnswer) {
  const { machine, results, result } = report as Members;
  return (
    <>
      {typeof machine === 'string' && <p class="faint">{machine}</p>}
      {kind === 'bench' && <Bench results={membersIn(results)} />}
      {kind === 'soak' && <Soak result={(result ?? {}) as Members} />}
      {kind === 'other' && <pre class="card">{JSON.stringify(report, undefined, 2)}</pre>}
      <Samples samples={samples} />
    </>
  );
}

/** A figure of the runs of a benchmark. */
interface Figure {
  readonly word: Word;
  readonly of: (run: Members) => number;
}

const benchFigures: readonly Figure[] = [
  { word: 'benchRate', of: ({ rate }) => numberOf(rate) },
  { word: 'benchCost', of: ({ cpuNsPerMessage }) => numberOf(cpuNsPerMessage) },
  { word: 'benchShare', of: ({ cpuShare }) => numberOf(cpuShare) * 100 },
  { word: 'benchP99', of: ({ latencyMs }) => numberOf((latencyMs as Members | null)?.p99) },
  { word: 'benchMemory', of: ({ peakBytes }) => numberOf(peakBytes) / 1e6 },
];

function Bench({ results }: { results: readonly Members[] }) {
  const rows = results.map((run) => ({ label: labelOf(run), run, isOwn: run.engine === 'haumea' }));
  const shown = benchFigures.filter(({ of }) => rows.some(({ run }) => Number.isFinite(of(run))));
  return (
    <>
      <section class="card" aria-label={t('allFigures')}>
        <h2>{t('allFigures')}</h2>
        <Scroller label={t('allFigures')}>
          <table>
            <thead>
              <tr>
                <th>{t('workload')}</th>
                {shown.map(({ word }) => (
                  <th key={word} class="number">
                    {t(word)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ label, run }) => (
                <tr key={label}>
                  <td class="time">{label}</td>
                  {shown.map(({ word, of }) => (
                    <td key={word} class="number">
                      {figure(of(run))}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroller>
        <Findings findings={results.flatMap((run) => textsIn(run.findings))} />
      </section>
      <div class="halves">
        {shown.map(({ word, of }) => (
          <Bars
            key={word}
            title={t(word)}
            bars={rows.map(({ label, run, isOwn }) => ({ label, isOwn, value: of(run) }))}
          />
        ))}
      </div>
    </>
  );
}

interface Bar {
  readonly label: string;
  readonly isOwn: boolean;
  readonly value: number;
}

/** Bars for the figures of several runs, the longest over the whole width. */
function Bars({ title, bars }: { title: string; bars: readonly Bar[] }) {
  const shown = bars.filter(({ value }) => Number.isFinite(value));
  const most = Math.max(...shown.map(({ value }) => value), Number.MIN_VALUE);
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <ul class="bars">
        {shown.map(({ label, isOwn, value }) => (
          <li key={label}>
            <span>{label}</span>
            <b>{figure(value)}</b>
            <i class={isOwn ? '' : 'other'} style={{ width: `${Math.max(0.5, (value / most) * 100)}%` }} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const soakFigures: readonly (readonly [word: Word, of: (result: Members) => string])[] = [
  ['soakMinutes', ({ seconds }) => figure(numberOf(seconds) / 60)],
  ['soakSent', ({ sent }) => figure(numberOf(sent))],
  ['benchRate', ({ rate }) => figure(numberOf(rate))],
  ['benchCost', ({ cpuNsPerMessage }) => figure(numberOf(cpuNsPerMessage))],
  ['soakLost', ({ rows }) => figure(numberOf((rows as Members | undefined)?.lost))],
  ['soakFailed', ({ failedRequests }) => figure(numberOf(failedRequests))],
];

function Soak({ result }: { result: Members }) {
  const judged = membersIn(result.judged);
  return (
    <section class="card" aria-label={t('allFigures')}>
      <h2>{t('allFigures')}</h2>
      <dl class="facts">
        {soakFigures.map(([word, of]) => (
          <div key={word}>
            <dt>{t(word)}</dt>
            <dd>{of(result)}</dd>
          </div>
        ))}
      </dl>
      <Findings findings={textsIn(result.findings)} />
      <Scroller label={t('soakGrowth')}>
        <table>
          <thead>
            <tr>
              <th>{t('soakGrowth')}</th>
              <th class="number">{t('soakBefore')}</th>
              <th class="number">{t('soakMean')}</th>
              <th class="number">{t('soakAfter')}</th>
              <th class="number">{t('soakHour')}</th>
              <th>{t('soakVerdict')}</th>
            </tr>
          </thead>
          <tbody>
            {judged.map((one) => {
              const trend = one.trend as Members | undefined;
              const shown = (value: unknown) => figure(one.unit === 'MB' ? numberOf(value) / 2 ** 20 : numberOf(value));
              return (
                <tr key={String(one.name)}>
                  <td>{`${titleOf(one)}${one.unit === '' ? '' : `, ${one.unit}`}`}</td>
                  <td class="number">{shown(one.before)}</td>
                  <td class="number">{shown(trend?.mean)}</td>
                  <td class="number">{shown(one.after)}</td>
                  <td class="number">{shown(trend?.slope)}</td>
                  <td class={one.verdict === 'grows' ? 'bad' : ''}>{verdictOf(one)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroller>
    </section>
  );
}

/** What a soak judges, by the name of its figure. */
const judgedFigures: Readonly<Record<string, Word>> = {
  rss: 'judgedRss',
  heapControl: 'judgedHeapControl',
  heapData: 'judgedHeapData',
  buffersControl: 'judgedBuffersControl',
  buffersData: 'judgedBuffersData',
  kernel: 'judgedKernel',
  kernelTotal: 'judgedKernelTotal',
  threads: 'judgedThreads',
  files: 'judgedFiles',
  diskFiles: 'judgedDiskFiles',
  disk: 'judgedDisk',
  late: 'judgedLate',
  rest: 'judgedRest',
};

const verdicts: Readonly<Record<string, Word>> = {
  flat: 'verdictFlat',
  falls: 'verdictFalls',
  grows: 'verdictGrows',
  'grows, within its bound': 'verdictGrowsLittle',
  'too short to tell': 'verdictTooShort',
};

/** A report may have figures that this console does not know: they have the words of the report. */
function titleOf({ name, title }: Members): string {
  const word = judgedFigures[String(name)];
  return word === undefined ? String(title) : t(word);
}

function verdictOf({ verdict }: Members): string {
  const word = verdicts[String(verdict)];
  return word === undefined ? String(verdict) : t(word);
}

function Findings({ findings }: { findings: readonly string[] }) {
  if (findings.length === 0) return <p class="faint">{t('noFindings')}</p>;
  return (
    <ul class="plain-list" aria-label={t('findings')}>
      {findings.map((finding) => (
        <li key={finding} class="bad-edge">
          {finding}
        </li>
      ))}
    </ul>
  );
}

const sampled: readonly (readonly [name: string, word: Word, scale: number])[] = [
  ['rss', 'sampleMemory', 2 ** 20],
  ['kernel', 'sampleKernel', 2 ** 20],
  ['late', 'sampleLate', 1],
];

/** Figures over the time of the run. */
function Samples({ samples }: { samples: readonly Members[] }) {
  if (samples.length < 2) return null;
  const minutes = samples.map(({ hours }) => numberOf(hours) * 60);
  return (
    <div class="halves">
      {sampled.map(([name, word, scale]) => {
        const values = samples.map((sample) => numberOf(sample[name]) / scale);
        if (!values.some(Number.isFinite)) return null;
        return (
          <section key={name} class="card" aria-label={t(word)}>
            <h2>{t(word)}</h2>
            <Chart
              title={t(word)}
              isOverTime={false}
              lines={[{ label: t('byMinutes'), colour: '--accent' }]}
              times={minutes}
              series={[values.map((value) => (Number.isFinite(value) ? value : null))]}
            />
          </section>
        );
      })}
    </div>
  );
}

function labelOf(run: Members): string {
  const knobs = Object.entries((run.knobs ?? {}) as Members).map(([name, value]) => `${name}=${value}`);
  const sender = run.sender === 'batching' ? '' : run.sender;
  return [run.workload, run.engine, run.dataSet, sender, ...knobs].filter((text) => text).join(' · ');
}

/** JSON has null for what was not measured. */
function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : Number.NaN;
}

function figure(value: number): string {
  return Number.isFinite(value) ? short(value) : '–';
}

function membersIn(value: unknown): readonly Members[] {
  return Array.isArray(value) ? (value as Members[]) : [];
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
