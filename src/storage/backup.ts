/** Whole copies of an embedded store, each in one file. */

/** What a sound file holds, as was noted when it was made and is found in it again. */
export interface BackupFacts {
  /** When it was begun, Unix ms: what was acknowledged before is in it. */
  readonly createdAt: number;
  /** Version of the service that made it. */
  readonly madeBy: string;
  /** Format of the store in it, and the newest that this version can serve. */
  readonly format: number;
  readonly newestFormat: number;
  /** Rows of each table. */
  readonly counts: Readonly<Record<string, number>>;
  /** Of the limit state; 0 when the store had none. */
  readonly limitBytes: number;
  /** Of the whole file. */
  readonly bytes: number;
}

/** What a store that is no backup holds. */
export interface StoreContents extends Pick<BackupFacts, 'format' | 'newestFormat' | 'counts'> {
  /** Of the data file; `null` for a store on a server. */
  readonly bytes: number | null;
}

export type Verified =
  | ({ readonly kind: 'backup' } & BackupFacts)
  | ({ readonly kind: 'store' } & StoreContents);

/** Why a file is not what it should be. */
export type BackupFault = 'missing' | 'damaged' | 'foreign' | 'exists' | 'space' | 'failed';

/** A file cannot be made, verified or restored; `message` says why and what to do. */
export class BackupError extends Error {
  readonly fault: BackupFault;
  constructor(fault: BackupFault, message: string, cause?: unknown) {
    super(message, { cause });
    this.fault = fault;
  }
}

export interface VerifyOptions {
  /** Ends it; nothing is left of it. */
  readonly signal?: AbortSignal | undefined;
  /** Bytes written or read, and bytes in all as far as they can be told in advance. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

export interface MakeOptions extends VerifyOptions {
  /** Whether a backup of that name may be replaced. */
  readonly replace: boolean;
  /** Unix ms. */
  readonly now: number;
}

/** Makes and verifies files in other processes, so that nothing here waits. Both reject with `BackupError`. */
export interface BackupMaker {
  /** The file appears under its name when it is whole and durable. */
  make(path: string, options: MakeOptions): Promise<BackupFacts>;
  verify(path: string, options?: VerifyOptions): Promise<Verified>;
}

/** A backup by its name in the folder. */
export interface NamedFile {
  readonly name: string;
  readonly bytes: number;
  /** As its name has it, Unix ms to the second. */
  readonly createdAt: number;
  /** Of one made by hand; `null` for a scheduled one. */
  readonly label: string | null;
  readonly verified: VerificationResult | null;
}

/** The result of a verification, as the folder keeps it. */
export interface VerificationResult {
  /** Unix ms. */
  readonly at: number;
  readonly isSound: boolean;
  /** What was wrong; `null` when it was sound. */
  readonly message: string | null;
  readonly counts: Readonly<Record<string, number>> | null;
}

/** The folder in which the service keeps backups of its store, by names of its own. */
export interface BackupFolder {
  readonly path: string;
  /** Those that were made here of this store, the latest first. */
  list(): Promise<NamedFile[]>;
  /** The file of a name that `list` could have; undefined for any other. */
  pathOf(name: string): string | undefined;
  nameAt(now: number, label: string | null): string;
  /** Keeps the result of a verification beside the file. */
  noteVerified(name: string, result: VerificationResult): Promise<void>;
  /** Makes the folder if it is not there, and removes from it what was left by a service that was killed. */
  make(): Promise<void>;
  /** Removes all scheduled ones but the latest `keep`, of which `latest` is one; resolves with the names of those removed. */
  prune(keep: number, latest: string): Promise<string[]>;
}
