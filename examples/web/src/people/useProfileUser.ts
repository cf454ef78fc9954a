import { useOutletContext } from "react-router";
import type { ProfileQuery } from "../gql/graphql";

export type ProfileUser = NonNullable<ProfileQuery["user"]>;

/** The user whose profile the page is a part of. */
export const useProfileUser = () => useOutletContext<ProfileUser>();
