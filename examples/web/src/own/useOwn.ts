import type { GroupFragment, PersonFragment } from "../gql/graphql";
import { useSession } from "../session/SessionContext";
import { AddToGroup, CreateGroup, DeleteGroup, RemoveFromGroup, SetNote, SetPinned } from "./documents";
import { useSave } from "./useSave";

/** The query for the groups of a person. */
const outdated = ["OwnDetails"];

/** Change groups, pins and notes. If the result is known in advance, the screen shows it at once. */
export function useOwn() {
  const { userId } = useSession();
  const save = useSave();

  const createGroup = (name: string) => save(CreateGroup, { name });

  const deleteGroup = ({ id, name }: GroupFragment) =>
    save(DeleteGroup, { groupId: id }, { done: `Deleted the group “${name}”. You still follow its members.` });

  const addToGroup = ({ id }: GroupFragment, user: PersonFragment) =>
    save(AddToGroup, { groupId: id, userIds: [user.id] }, { outdated });

  const removeFromGroup = ({ id }: GroupFragment, user: PersonFragment) =>
    save(RemoveFromGroup, { groupId: id, userIds: [user.id] }, { outdated });

  const setPinned = (people: PersonFragment[]) =>
    save(
      SetPinned,
      { userIds: people.map(({ id }) => id) },
      {
        guess: {
          __typename: "SetPinnedFollowingPayload",
          viewer: { __typename: "Viewer", id: `viewer:${userId}`, pinnedFollowing: people },
          userErrors: [],
        },
      },
    );

  const setNote = (user: PersonFragment, note: string) =>
    save(
      SetNote,
      { userId: user.id, note },
      {
        guess: {
          __typename: "SetNotePayload",
          relation: user.viewerRelation && { __typename: "Relation", id: user.viewerRelation.id, note: note || null },
          userErrors: [],
        },
        done: note ? "Saved. Only you see the note." : "Deleted your note.",
      },
    );

  return { createGroup, deleteGroup, addToGroup, removeFromGroup, setPinned, setNote };
}
