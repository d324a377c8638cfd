/** A list of any length, of which the rows in sight are drawn. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface LongListProps<T> {
  readonly label: string;
  readonly items: readonly T[];
  readonly keyOf: (item: T) => string;
  /** Height of a row in rem, on wide and on narrow screens. */
  readonly heights: readonly [wide: number, narrow: number];
  readonly columns: string;
  readonly head: ComponentChildren;
  readonly row: (item: T) => ComponentChildren;
}

/** Rows drawn above and below those in sight. */
const more = 6;
const narrow = matchMedia('(max-width: 820px)');

export function LongList<T>({ label, items, keyOf, heights, columns, head, row }: LongListProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800, isNarrow: narrow.matches });
  useEffect(() => {
    const look = () => {
      const { scrollTop = 0, clientHeight = 0 } = box.current ?? {};
      setView({ top: scrollTop, height: clientHeight, isNarrow: narrow.matches });
    };
    const observer = new ResizeObserver(look);
    observer.observe(box.current!);
    box.current!.addEventListener('scroll', look, { passive: true });
    return () => observer.disconnect();
  }, []);
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const height = Math.round(heights[view.isNarrow ? 1 : 0] * rem);
  const first = Math.max(0, Math.floor(view.top / height) - more);
  const shown = items.slice(first, Math.ceil((view.top + view.height) / height) + more);
  return (
    <div class="list" ref={box}>
      <table aria-label={label} aria-rowcount={items.length + 1}>
        <thead>
          <tr class={`list-head ${columns}`}>{head}</tr>
        </thead>
        <tbody style={{ height: `${items.length * height}px` }}>
          {shown.map((item, i) => (
            <tr
              key={keyOf(item)}
              class={`list-row ${columns}`}
              aria-rowindex={first + i + 2}
              style={{ top: `${(first + i) * height}px`, height: `${height}px` }}
            >
              {row(item)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
