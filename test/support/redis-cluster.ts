/** A Redis Cluster of real servers that a test can stop or break. */
import { RedisClient } from 'bun';
import { type OwnServer, ownRedis } from './servers.ts';
import { until } from './wait.ts';

export interface RedisNode extends OwnServer {
  readonly id: string;
  readonly port: string;
  command(...words: [string, ...string[]]): Promise<unknown>;
  /** Sends ASKING and a command for a slot that the node is importing. */
  asking(...words: [string, ...string[]]): Promise<unknown>;
}

export interface RedisCluster extends AsyncDisposable {
  /** Primaries in slot order, each with an equal number of slots. */
  readonly primaries: readonly RedisNode[];
  /** Replicas, one for each of the first primaries. */
  readonly replicas: readonly RedisNode[];
  /** A URL that lists all primaries. */
  readonly url: string;
  /** The primary of a slot. Undefined unless all nodes that respond agree. */
  ownerOf(slot: number): Promise<RedisNode | undefined>;
  /** Resolves when all nodes are connected and agree on all slots, and the replicas are synchronized. */
  settled(): Promise<void>;
}

const slotCount = 16_384;

const settings = {
  'cluster-enabled': 'yes',
  // Time in ms without a response after which other nodes consider a node failed.
  'cluster-node-timeout': '1000',
  'cluster-require-full-coverage': 'no',
  'cluster-allow-replica-migration': 'no',
  'repl-diskless-sync-delay': '0',
};

/** Returns undefined if neither Redis nor Valkey is installed. */
export async function redisCluster({ primaries, replicas = 0 }: { primaries: number; replicas?: number }) {
  await using made = new AsyncDisposableStack();
  const nodes: RedisNode[] = [];
  for (let count = 0; count < primaries + replicas; count++) {
    const server = await ownRedis(settings);
    if (server === undefined) return undefined;
    nodes.push(await nodeOf(made.use(server)));
  }
  const cluster = new OwnRedisCluster(nodes.slice(0, primaries), nodes.slice(primaries));
  await cluster.join();
  const kept = made.move();
  return Object.assign(cluster, { [Symbol.asyncDispose]: () => kept.disposeAsync() }) as RedisCluster;
}

async function nodeOf(server: OwnServer): Promise<RedisNode> {
  const perform = async (...commands: (readonly [string, ...string[]])[]) => {
    const client = new RedisClient(server.url, { autoReconnect: false });
    let reply: unknown;
    try {
      for (const [name, ...args] of commands) reply = await client.send(name, args);
      return reply;
    } finally {
      client.close();
    }
  };
  const command = (...words: [string, ...string[]]) => perform(words);
  const asking = (...words: [string, ...string[]]) => perform(['ASKING'], words);
  const id = String(await command('CLUSTER', 'MYID'));
  return Object.assign(server, { id, port: new URL(server.url).port, command, asking });
}

class OwnRedisCluster {
  readonly primaries: readonly RedisNode[];
  readonly replicas: readonly RedisNode[];

  constructor(primaries: readonly RedisNode[], replicas: readonly RedisNode[]) {
    this.primaries = primaries;
    this.replicas = replicas;
  }

  get url(): string {
    return `redis://${this.primaries.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
  }

  get #nodes(): readonly RedisNode[] {
    return [...this.primaries, ...this.replicas];
  }

  async join(): Promise<void> {
    const part = slotCount / this.primaries.length;
    for (const [index, node] of this.primaries.entries()) {
      const [first, next] = [Math.ceil(index * part), Math.ceil((index + 1) * part)];
      await node.command('CLUSTER', 'ADDSLOTSRANGE', `${first}`, `${next - 1}`);
    }
    const [first] = this.primaries;
    for (const [index, node] of this.#nodes.entries()) {
      // Sets distinct epochs, because nodes with equal epochs resolve the conflict only after a random time.
      await node.command('CLUSTER', 'SET-CONFIG-EPOCH', `${index + 1}`);
      if (node !== first) await node.command('CLUSTER', 'MEET', '127.0.0.1', first?.port ?? '');
    }
    const { length } = this.#nodes;
    const known = async (node: RedisNode) => {
      return String(await node.command('CLUSTER', 'INFO')).includes(`cluster_known_nodes:${length}`);
    };
    for (const node of this.#nodes) await until(() => known(node));
    for (const [index, replica] of this.replicas.entries()) {
      await replica.command('CLUSTER', 'REPLICATE', this.primaries[index]?.id ?? '');
    }
    await this.settled();
    for (const replica of this.replicas) {
      await until(async () =>
        /master_link_status:up/.test(String(await replica.command('INFO', 'replication'))),
      );
    }
  }

  async settled(): Promise<void> {
    await until(async () => {
      const lists = await Promise.all(
        this.#nodes.map(async (node) => agreed(await node.command('CLUSTER', 'NODES'))),
      );
      return new Set(lists).size === 1 && !lists[0]?.includes('fail');
    });
    // A node that has just joined rejects commands at first, and a replica must first synchronize.
    for (const node of this.#nodes) {
      await until(async () => {
        const info = [
          await node.command('CLUSTER', 'INFO'),
          await node.command('INFO', 'replication'),
        ].join();
        return info.includes('cluster_state:ok') && !info.includes('master_link_status:down');
      });
    }
  }

  async ownerOf(slot: number): Promise<RedisNode | undefined> {
    const asked = this.#nodes.map((node) => node.command('CLUSTER', 'SLOTS').catch(() => undefined));
    const owners = (await Promise.all(asked)).flatMap((reply) => {
      if (reply === undefined) return [];
      const ranges = reply as [number, number, [string, number]][];
      return [ranges.find(([first, last]) => first <= slot && slot <= last)?.[2][1]];
    });
    const port = new Set(owners).size === 1 ? `${owners[0]}` : undefined;
    return this.#nodes.find((node) => node.port === port);
  }
}

/** The part of CLUSTER NODES on which the nodes must agree: members, roles and slots. */
function agreed(list: unknown): string {
  const lines = String(list).trim().split('\n');
  return lines
    .map((line) => {
      const [id, , flags = '', of, , , , link, ...slots] = line.split(' ');
      return [id, flags.replace('myself,', ''), of, link, ...slots].join(' ');
    })
    .toSorted()
    .join('\n');
}
