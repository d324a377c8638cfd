/** Things with names: a list, what the server tells of each, and a form for new ones. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../state/language.js';
import { usePolled } from '../state/polled.js';
import { reasonOf } from '../state/server.js';
import { Changing } from './changing.js';
import { Cancel, confirmed, Dialog, focusContent } from './dialog.js';
import { tried } from './notices.js';
import { Scroller } from './scroller.js';

/** Others change the list as well. */
const everyMs = 10_000;

export interface Item {
  readonly id: string;
  /** What stands beside the name. */
  readonly about?: string;
  /** True for what is wrong. */
  readonly isBad?: boolean;
}

export interface CollectionProps {
  readonly title: string;
  readonly list: () => Promise<readonly Item[]>;
  /** All that the server tells of one. */
  readonly describe?: (id: string) => Promise<unknown>;
  readonly remove?: (id: string) => Promise<unknown>;
  /** Further buttons of one. */
  readonly more?: (id: string) => ComponentChildren;
  /** The form of a new one; `done` closes it. */
  readonly create?: (done: () => void) => ComponentChildren;
}

export function Collection({ title, list, describe, remove, more, create }: CollectionProps) {
  const { value, error, reload } = usePolled(list, everyMs, [title]);
  const [isMaking, setMaking] = useState(false);
  const [shown, setShown] = useState<{ id: string; text: string }>();
  const done = () => {
    setMaking(false);
    reload();
  };
  const show = async (id: string) => {
    const told = await describe?.(id).catch(reasonOf);
    setShown({ id, text: typeof told === 'string' ? told : JSON.stringify(told, undefined, 2) });
  };
  const drop = async (id: string) => {
    if (!(await confirmed(t('removeAsk', { n: id }), t('remove')))) return;
    await tried(() => remove?.(id) ?? Promise.resolve());
    reload();
    focusContent();
  };
  return (
    <section class="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {create !== undefined && (
          <Changing>
            <button type="button" class="main" onClick={() => setMaking(true)}>
              {t('new')}
            </button>
          </Changing>
        )}
      </header>
      {error !== undefined && <p class="notice bad">{error}</p>}
      {value?.length === 0 && <p class="faint">{t('none')}</p>}
      {value !== undefined && value.length > 0 && (
        <Scroller label={t('listOf', { what: title })}>
          <table class="collection">
            <tbody>
              {value.map(({ id, about, isBad }) => (
                <tr key={id}>
                  <td>{id}</td>
                  <td class={`long ${isBad ? 'bad' : 'faint'}`}>{about}</td>
                  <td class="orders">
                    {more?.(id)}
                    {describe !== undefined && (
                      <button type="button" onClick={() => void show(id)}>
                        {t('details')}
                        <span class="hidden"> {id}</span>
                      </button>
                    )}
                    {remove !== undefined && (
                      <Changing>
                        <button type="button" class="danger" onClick={() => void drop(id)}>
                          {t('remove')}
                          <span class="hidden"> {id}</span>
                        </button>
                      </Changing>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroller>
      )}
      {shown !== undefined && <Shown {...shown} onClose={() => setShown(undefined)} />}
      {isMaking && (
        <Dialog title={`${t('new')}: ${title}`} onClose={() => setMaking(false)}>
          {create?.(done)}
        </Dialog>
      )}
    </section>
  );
}

interface ShownProps {
  readonly id: string;
  readonly text: string;
  readonly onClose: () => void;
}

/** What the server tells of one. */
function Shown({ id, text, onClose }: ShownProps) {
  return (
    <Dialog title={id} onClose={onClose}>
      <Scroller label={t('details')}>
        <pre>{text}</pre>
      </Scroller>
      <div class="row end">
        <Cancel word="close" />
      </div>
    </Dialog>
  );
}
