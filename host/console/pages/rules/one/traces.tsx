/** Traces of a rule: the way of single messages through its operators. */
import { useState } from 'preact/hooks';
import type { Answer } from '../../../../sdk/client.js';
import { Changing } from '../../../parts/changing.js';
import { tried } from '../../../parts/notices.js';
import { t } from '../../../state/language.js';
import { usePolled } from '../../../state/polled.js';
import { ask } from '../../../state/server.js';

type Span = Answer<'GET /trace/{id}'>;

const everyMs = 3000;
const most = '20';

export function Traces({ id }: { id: string }) {
  const path = { id };
  const { value, error, reload } = usePolled(
    () => ask('GET /trace/rule/{id}', { path, query: { limit: most } }),
    everyMs,
    [id],
  );
  const [shown, setShown] = useState('');
  const give = async (work: () => Promise<unknown>) => {
    await tried(work);
    reload();
  };
  return (
    <section class="card">
      <header>
        <h2>{t('traces')}</h2>
        <span class="row">
          <Changing>
            <button
              type="button"
              onClick={() =>
                void give(() => ask('POST /rules/{id}/trace/start', { path, body: { strategy: 'always' } }))
              }
            >
              {t('traceStart')}
            </button>
            <button type="button" onClick={() => void give(() => ask('POST /rules/{id}/trace/stop', { path }))}>
              {t('traceStop')}
            </button>
          </Changing>
        </span>
      </header>
      {error !== undefined && <p class="notice bad">{error}</p>}
      {(value ?? []).length === 0 && <p class="faint">{t('noTraces')}</p>}
      <ul class="plain-list">
        {(value ?? []).map((trace) => (
          <li key={trace}>
            <button
              type="button"
              class="plain mono"
              aria-expanded={trace === shown}
              onClick={() => setShown(trace === shown ? '' : trace)}
            >
              {trace}
            </button>
            {trace === shown && <Trace id={trace} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Trace({ id }: { id: string }) {
  const { value, error } = usePolled(() => ask('GET /trace/{id}', { path: { id } }), 0, [id]);
  if (value === undefined) return <p class="faint">{error ?? t('loading')}</p>;
  return <Spans span={value} />;
}

function Spans({ span }: { span: Span }) {
  const { Name, Attribute, StartTime, EndTime, ChildSpan } = span;
  const took = Date.parse(EndTime) - Date.parse(StartTime);
  return (
    <details open>
      <summary>
        {Name} {!Number.isNaN(took) && <span class="faint">{`${took} ms`}</span>}
      </summary>
      {Attribute !== null && <pre>{JSON.stringify(Attribute)}</pre>}
      {ChildSpan?.map((child) => (
        <Spans key={child.SpanID} span={child} />
      ))}
    </details>
  );
}
