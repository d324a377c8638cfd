/** Statements tried on live rows: faults as they are typed, rows as they come, a rule when it is right. */
import { useState } from 'preact/hooks';
import type { Row } from '../../../sdk/client.js';
import { SqlEditor } from '../../parts/code/sql-editor.js';
import { kept } from '../../state/kept.js';
import { t } from '../../state/language.js';
import { routeQuery } from '../../state/route.js';
import { completions } from './catalogue.js';
import { faultsOf } from './faults.js';
import { MakeRule } from './make-rule.js';
import { Results } from './results.js';
import { useRun } from './run.js';
import { Sample, streamIn } from './sample.js';

const draft = kept<string>('statement', 'SELECT * FROM demo', () => true);

export function Playground() {
  const [sql, setSql] = useState(routeQuery.value.get('sql') ?? draft.value);
  const [isSample, setSample] = useState(false);
  const [sample, setSample_] = useState({ stream: '', text: '[\n  {"temperature": 21.5}\n]' });
  const [sampleError, setSampleError] = useState('');
  const [isMaking, setMaking] = useState(false);
  const run = useRun();
  const start = () => {
    setSampleError('');
    try {
      const given = { stream: sample.stream || streamIn(sql), rows: isSample ? rowsOf(sample.text) : [] };
      run.start({ sql, ...(isSample && { sample: given }) });
    } catch (error) {
      setSampleError(error instanceof Error ? error.message : String(error));
    }
  };
  const change = (text: string) => {
    setSql(text);
    draft.keep(text);
  };
  return (
    <div class="page">
      <header>
        <h1>{t('playground')}</h1>
        <button type="button" onClick={() => setMaking(true)}>
          {t('makeRule')}
        </button>
      </header>
      <section class="card" aria-label={t('statement')}>
        <SqlEditor
          label={t('statement')}
          text={sql}
          onText={change}
          check={faultsOf}
          completions={completions}
          onRun={start}
        />
        <div class="row">
          <button type="button" class="main" onClick={start}>
            {t(isSample ? 'runSample' : 'runLive')}
          </button>
          <button type="button" disabled={!run.isOn} onClick={run.stop}>
            {t('stop')}
          </button>
          <label class="row">
            <input type="checkbox" checked={isSample} onChange={() => setSample(!isSample)} />
            {t('ownRows')}
          </label>
          <span class="faint">{t('runHint')}</span>
        </div>
        {isSample && <Sample {...sample} sql={sql} onChange={setSample_} />}
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
