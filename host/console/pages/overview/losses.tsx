/** What the server has lost and nobody has acknowledged. */
import { tried } from '../../parts/notices.js';
import { moment } from '../../parts/numbers.js';
import { t } from '../../state/language.js';
import { usePolled } from '../../state/polled.js';
import { ask } from '../../state/server.js';

export function Losses({ count }: { count: number }) {
  const { value = [], reload } = usePolled(() => ask('GET /losses'), 0, [count]);
  const acknowledge = async (id: string) => {
    await tried(() => ask('DELETE /losses/{id}', { path: { id } }));
    reload();
  };
  return (
    <section class="card">
      <h2>{t('losses')}</h2>
      <ul class="plain-list">
        {value.map(({ id, text, time }) => (
          <li key={id} class="bad-edge">
            <span>{text}</span>
            <span class="row faint">
              {moment(time)}
              <button type="button" onClick={() => void acknowledge(id)}>
                {t('acknowledge')}
              </button>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
