// Kith's cached values, read by ioredis: in batches, without GraphQL.
// storage/redis/keys.py has the keys, storage/cache/codec/ the formats of the values.

import { crc32 } from 'node:zlib'
import Redis from 'ioredis'

const FOLLOW = 1
const STATES = ['NONE', 'FOLLOWING', 'FOLLOWED_BY', 'FRIENDS']
const KINDS = { following: 1, followers: 2 }
const ENTRY = 16

const date = (ms) => new Date(ms).toISOString()
// A date has 48 bits: the upper two of its eight bytes are always zero.
const millis = (value, at) => value.readUIntBE(at + 2, 6)

class Relation {
  constructor (from, other, value) {
    this.from = from
    this.other = other
    this.value = value
  }

  get to () { return { id: this.other } }
  get following () { return this.value !== null && (this.value[0] & 7) === FOLLOW }
  get followedBy () { return this.value !== null && (this.value[17] & 7) === FOLLOW }
  get followedAt () { return this.following ? date(millis(this.value, 1)) : null }
  get followedByAt () { return this.followedBy ? date(millis(this.value, 18)) : null }
  get state () {
    if (this.from === this.other) return 'SELF'
    return STATES[this.following + 2 * this.followedBy]
  }

  get friendsSince () {
    if (!this.following || !this.followedBy) return null
    return date(Math.max(millis(this.value, 1), millis(this.value, 18)))
  }
}

class Edge {
  constructor (entry, seed) {
    this.entry = entry
    this.seed = seed
  }

  get node () { return { id: this.entry.readBigInt64BE(8).toString() } }
  get followedAt () { return date(millis(this.entry, 0)) }
  get cursor () {
    const cursor = Buffer.allocUnsafe(1 + ENTRY + 4)
    cursor[0] = 1
    this.entry.copy(cursor, 1)
    cursor.writeUInt32BE(crc32(cursor.subarray(0, 1 + ENTRY), this.seed), 1 + ENTRY)
    return cursor.toString('base64url')
  }
}

class Connection {
  constructor (kind, owner, value, first, tag) {
    this.kind = kind
    this.owner = owner
    const count = (value.length - 1) / ENTRY
    this.more = count > first
    this.edges = []
    const seed = listSeed(kind, owner, tag)
    for (let at = 1; at < value.length && this.edges.length < first; at += ENTRY) {
      this.edges.push(new Edge(value.subarray(at, at + ENTRY), seed))
    }
  }

  get pageInfo () {
    const last = this.edges.at(-1)
    return { hasNextPage: this.more, endCursor: last === undefined ? null : last.cursor }
  }
}

function listSeed (kind, owner, tag) {
  const list = Buffer.allocUnsafe(9)
  list[0] = KINDS[kind]
  list.writeBigInt64BE(BigInt(owner), 1)
  return crc32(list, tag)
}

export function graph (url, space) {
  const { pathname, searchParams, protocol } = new URL(url)
  const options = { db: Number(searchParams.get('db') ?? 0), enableAutoPipelining: true }
  const redis = protocol === 'unix:' ? new Redis({ path: pathname, ...options }) : new Redis(url, options)
  const tag = space === 'public' ? 0 : crc32(space) // as graph/space.py has it
  const key = (what, user) => `kith:${space}:${what}:1:{${user}}`

  return {
    async relations (user, others) {
      const values = await redis.hmgetBuffer(key('rel', user), '*', ...others)
      return others.map((other, index) => new Relation(user, other, values[index + 1]))
    },

    async pages (kind, owners, first) {
      const end = ENTRY * (first + 1)
      const values = await Promise.all(owners.map((owner) => redis.getrangeBuffer(key(kind, owner), 0, end)))
      return values.map((value, index) => new Connection(kind, owners[index], value, first, tag))
    },

    async counts (users) {
      const values = await redis.mgetBuffer(...users.map((user) => key('profile', user)))
      return values.map((value) => ({
        following: Number(value.readBigInt64BE(1)),
        followers: Number(value.readBigInt64BE(9)),
        friends: Number(value.readBigInt64BE(17))
      }))
    }
  }
}
