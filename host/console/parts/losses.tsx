/** What the server has lost and nobody has acknowledged: all of it, or what belonged to one rule. */

import { t } from '../state/language.js';
import { usePolled } from '../state/polled.js';
import { ask } from '../state/server.js';
import { Changing } from './changing.js';
import { tried } from './notices.js';
import { moment } from './numbers.js';

interface LossesProps {
  /** The list is asked for again when it changes. */
  readonly count: number;
  readonly rule?: string;
}

export function Losses({ count, rule }: LossesProps) {
  const { value = [], reload } = usePolled(() => ask('GET /losses'), 0, [count]);
  const shown = value.filter(({ resource, name }) => rule === undefined || (resource === 'rule' && name === rule));
  const acknowledge = async (id: string) => {
    await tried(() => ask('DELETE /losses/{id}', { path: { id } }));
    reload();
  };
  if (rule !== undefined && shown.length === 0) return null;
  return (
    <section class="card">
      <h2>{t('losses')}</h2>
      <ul class="plain-list">
        {shown.map(({ id, text, time }) => (
          <li key={id} class="bad-edge">
            <span>{text}</span>
            <span class="row faint">
              {moment(time)}
              <Changing>
                <button type="button" onClick={() => void acknowledge(id)}>
                  {t('acknowledge')}
                </button>
              </Changing>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
