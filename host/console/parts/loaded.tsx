/** Parts of the page whose code is fetched when they are first shown. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { t } from '../state/language.js';

/** Makes a component of one that is fetched. */
export function fetched<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let found: ComponentType<P> | undefined;
  return function Fetched(props: P) {
    const [, setDone] = useState(found !== undefined);
    useEffect(() => {
      if (found !== undefined) return;
      load().then(
        (component) => {
          found = component;
          setDone(true);
        },
        // A newer server has other files: the page itself is fetched again.
        () => location.reload(),
      );
    }, []);
    const Shown = found;
    return Shown === undefined ? <p class="page faint">{t('loading')}</p> : <Shown {...props} />;
  };
}
