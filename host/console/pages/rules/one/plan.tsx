/** The plan of a rule as the server explains it, and its output columns. */
import { Scroller } from '../../../parts/scroller.js';
import { t } from '../../../state/language.js';
import { usePolled } from '../../../state/polled.js';
import { ask } from '../../../state/server.js';

export function Plan({ id }: { id: string }) {
  const path = { id };
  const plan = usePolled(() => ask('GET /rules/{id}/explain', { path }), 0, [id]);
  const columns = usePolled(() => ask('GET /rules/{id}/schema', { path }), 0, [id]);
  return (
    <>
      {plan.error !== undefined && <p class="notice bad">{plan.error}</p>}
      <section class="card">
        <h2>{t('plan')}</h2>
        <Scroller label={t('plan')}>
          <table>
            <tbody>
              {stepsOf(plan.value ?? '').map(({ depth, name, rest }) => (
                <tr key={`${name}${rest}`}>
                  <td style={{ paddingLeft: `${0.6 + depth * 0.9}rem` }}>{name}</td>
                  <td class="mono long">{rest}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroller>
      </section>
      <section class="card">
        <h2>{t('columns')}</h2>
        <p class="row">
          {Object.keys(columns.value ?? {}).map((name) => (
            <code key={name} class="tag">
              {name}
            </code>
          ))}
        </p>
      </section>
    </>
  );
}

interface Step {
  readonly depth: number;
  readonly name: string;
  readonly rest: string;
}

/** The lines of a plan: a step each, as JSON behind tabs. */
function stepsOf(text: string): readonly Step[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const depth = /^\t*/.exec(line)![0].length;
      try {
        const { op, info, ...rest } = JSON.parse(line) as { op: string; info?: string };
        const facts = Object.entries(rest).map(([name, value]) => `${name}: ${value}`);
        return { depth, name: op, rest: info ?? facts.join('\n') };
      } catch {
        return { depth, name: '', rest: line.trim() };
      }
    });
}
