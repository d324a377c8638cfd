/** Statements tried on live rows: faults as they are typed, rows as they come, a rule when it is right. */
import { useMemo, useState } from 'preact/hooks';
import type { Row } from '../../../sdk/client.js';
import { Changing } from '../../parts/changing.js';
import { SqlEditor } from '../../parts/code/sql-editor.js';
import { kept } from '../../state/kept.js';
import { t } from '../../state/language.js';
import { routeQuery } from '../../state/route.js';
import { completions } from './catalogue.js';
import { type Example, exampleOf, type Given, MissingStreams } from './example.js';
import { faultsOf } from './faults.js';
import { MakeRule } from './make-rule.js';
import { Results } from './results.js';
import { useRun } from './run.js';
import { Sample, streamIn } from './sample.js';

const draft = kept<string>('statement', 'SELECT * FROM demo', () => true);
const someRow: Given = { stream: '', text: '[\n  {"temperature": 21.5}\n]' };

/** The page anew for each link that leads here. */
export function Playground() {
  const link = routeQuery.value.toString();
  const example = useMemo(() => exampleOf(new URLSearchParams(link)), [link]);
  return <Statement key={link} example={example} />;
}

function Statement({ example }: { example: Example }) {
  const [sql, setSql] = useState(example.sql ?? draft.value);
  const [isSample, setSample] = useState(example.given.length > 0);
  const [samples, setSamples] = useState(example.given.length > 0 ? example.given : [someRow]);
  const [sampleError, setSampleError] = useState('');
  const [isMaking, setMaking] = useState(false);
  // What is checked and completed depends on the streams that there are.
  const [made, setMade] = useState(0);
  const run = useRun();
  const start = () => {
    setSampleError('');
    try {
      const rows = samples.map(({ stream, text }) => [stream || streamIn(sql), rowsOf(text)]);
      run.start({ sql, options: example.options, ...(isSample && { rows: Object.fromEntries(rows) }) });
    } catch (error) {
      setSampleError(error instanceof Error ? error.message : String(error));
    }
  };
  const change = (text: string) => {
    setSql(text);
    draft.keep(text);
  };
  const changeSample = (i: number) => (sample: Given) =>
    setSamples((old) => old.map((one, k) => (k === i ? sample : one)));
  return (
    <div class="page">
      <header>
        <h1>{t('playground')}</h1>
        <Changing>
          <button type="button" onClick={() => setMaking(true)}>
            {t('makeRule')}
          </button>
        </Changing>
      </header>
      <section class="card" aria-label={t('statement')}>
        <MissingStreams streams={example.streams} onMade={() => setMade(made + 1)} />
        <SqlEditor
          key={made}
          label={t('statement')}
          text={sql}
          onText={change}
          check={faultsOf}
          completions={completions}
          onRun={start}
        />
        <div class="row">
          <Changing>
            <button type="button" class="main" onClick={start}>
              {t(isSample ? 'runSample' : 'runLive')}
            </button>
          </Changing>
          <button type="button" disabled={!run.isOn} onClick={run.stop}>
            {t('stop')}
          </button>
          <label class="row">
            <input type="checkbox" checked={isSample} onChange={() => setSample(!isSample)} />
            {t('ownRows')}
          </label>
          <span class="faint">{t('runHint')}</span>
        </div>
        {example.options !== undefined && (
          <p class="notice">{t('withOptions', { options: JSON.stringify(example.options) })}</p>
        )}
        {isSample && samples.map((one, i) => <Sample key={i} {...one} sql={sql} onChange={changeSample(i)} />)}
        {sampleError !== '' && <p class="notice bad">{sampleError}</p>}
      </section>
      <Results run={run} />
      {isMaking && <MakeRule sql={sql} onClose={() => setMaking(false)} />}
    </div>
  );
}

/** Rows as a list, one object, or an object a line. */
function rowsOf(text: string): readonly Row[] {
  try {
    return [JSON.parse(text)].flat();
  } catch (error) {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    if (lines.length < 2 || !lines.every((line) => /^\s*\{.*\}\s*$/.test(line))) throw error;
    return lines.map((line) => JSON.parse(line));
  }
}
