/** Topics within the engine by which rules feed each other. */
import { connectorOf, dynamicProps } from './loaded.js';

interface Parts {
  readonly sources: readonly { readonly type: string; readonly dataSource: string }[];
  readonly sinks: readonly { readonly type: string; readonly props: Readonly<Record<string, unknown>> }[];
}

/** Topics that a rule writes to and reads from, with their connectors. */
export interface TopicUse {
  /** Topics of the sinks; undefined when a template over the row makes the topic, so that it may be any. */
  readonly writes: readonly { readonly type: string; readonly topic: string | undefined }[];
  readonly reads: readonly { readonly type: string; readonly dataSource: string }[];
}

const noUse: TopicUse = { writes: [], reads: [] };

export function topicUse({ sources, sinks }: Parts): TopicUse {
  const reads = sources.filter(({ type }) => connectorOf(type)?.topics !== undefined);
  const writes = sinks.flatMap(({ type, props }) => {
    const property = connectorOf(type)?.topics?.property;
    if (property === undefined) return [];
    const topic = props[property];
    return { type, topic: typeof topic !== 'string' || property in dynamicProps(type, props) ? undefined : topic };
  });
  return reads.length === 0 && writes.length === 0 ? noUse : { writes, reads };
}

/** Whether the first rule may write to a topic that the second one reads. */
export function feeds({ writes }: TopicUse, { reads }: TopicUse): boolean {
  return writes.some(({ type, topic }) =>
    reads.some(
      (read) =>
        read.type === type && (topic === undefined || connectorOf(type)!.topics!.areRead(read.dataSource, topic)),
    ),
  );
}
