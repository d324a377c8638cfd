/** Functions tried on values: an expression is computed once, as statements compute it. */

import { useState } from 'preact/hooks';
import type { QueryEvent } from '../../../sdk/client.js';
import { Changing } from '../../parts/changing.js';
import { kept } from '../../state/kept.js';
import { t } from '../../state/language.js';
import { ask, client, noted, reasonOf } from '../../state/server.js';

const draft = kept<string>('expression', "concat('a', 'b')", () => true);

interface Result {
  readonly text: string;
  readonly isBad: boolean;
}

export function Try() {
  const [text, setText] = useState<string>(draft.value);
  const [result, setResult] = useState<Result>();
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    draft.keep(text);
    setBusy(true);
    setResult(undefined);
    try {
      setResult(resultOf(await computed(text)));
    } catch (error) {
      noted(error);
      setResult({ text: reasonOf(error), isBad: true });
    }
    setBusy(false);
  };
  return (
    <section class="card" aria-label={t('tryIt')}>
      <h2>{t('tryIt')}</h2>
      <form
        class="row low"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <label class="field grow">
          {t('expression')}
          <input
            class="mono"
            required
            autocomplete="off"
            spellcheck={false}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <Changing>
          <button type="submit" class="main" disabled={isBusy}>
            {t('run')}
          </button>
        </Changing>
      </form>
      <div role="status">
        {isBusy && <p class="faint">{t('loading')}</p>}
        {result !== undefined && <pre class={`notice ${result.isBad ? 'bad' : ''}`}>{result.text}</pre>}
      </div>
    </section>
  );
}

/** Computes an expression on a row of a stream that lives as long as the question. */
async function computed(expression: string): Promise<QueryEvent | undefined> {
  const id = `console_${crypto.getRandomValues(new Uint32Array(2)).join('')}`;
  const options = 'TYPE="memory", DATASOURCE="console/try", FORMAT="json", TEMP="true"';
  await ask('POST /streams', { body: { sql: `CREATE STREAM ${id} () WITH (${options})` } });
  try {
    for await (const found of client.query(`SELECT ${expression} AS result FROM ${id}`, { rows: { [id]: [{}] } })) {
      if (!('note' in found)) return found;
    }
    return undefined;
  } finally {
    await ask('DELETE /streams/{id}', { path: { id } }).catch(() => {});
  }
}

function resultOf(found: QueryEvent | undefined): Result {
  if (found !== undefined && 'error' in found) return { text: found.error, isBad: true };
  const value = found !== undefined && 'row' in found ? found.row.result : undefined;
  return { text: JSON.stringify(value ?? null, undefined, 2), isBad: false };
}
