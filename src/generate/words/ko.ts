/** Korean vocabulary. */

import { common } from "./common.ts";

/** Korean names, titles and sentences. */
export const korean = {
  ...common,
  family: `김 이 박 최 정 강 조 윤 장 임 한 오 서 신 권 황 안 송 류 전 홍 고 문 양 손 배 백 허 유 남 심 노 하 곽 성 차 주 우 구 민 나 진 지 엄 채 원 천 방 공 현 함 변 염 여 추 도 소 석 선 설 마 길 연 위 표 명 기 남궁 제갈 선우`,
  syllable: `민 서 지 준 현 우 영 수 진 은 하 예 윤 연 도 유 주 승 재 성 호 경 미 정 아 혜 태 동 상 희 원 선 채 시 나 건 소 인 규 빈 다 온 율 솔 별 훈 기 찬 결 란 옥 철 욱 범 석 환`,
  given: [
    "{syllable}{syllable}",
    "{syllable}{syllable}",
    "{syllable}{syllable}",
    "{syllable}{syllable}",
    "{pure}",
  ],
  pure: `하늘 바다 보라 슬기 아름 빛나 한별 다솜 가람 새봄 나래 이슬 초롱 은하 여름 가을 겨울 소라 단비 해솔`,
  person: ["{family}{given}", "{family}{given}", "{family}{given}", "{family} {given}", "{given}"],
  adj: `작은 조용한 푸른 오래된 비밀의 행복한 어두운 하얀 검은 밤의 잊혀진 아름다운 귀여운 따뜻한 차가운 배고픈 졸린 신비한 떠다니는 외로운
    용감한 빛나는 비오는 눈내리는 숨겨진 무서운 달콤한 느린 엉뚱한 평화로운 끝없는 버려진 반짝이는 포근한 심심한 화려한`,
  noun: `고양이 집 방 숲 카페 바다 마을 학교 정원 섬 도시 하늘 별 달 여우 호수 성 공원 도서관 강아지 토끼 늑대 호랑이 곰 용 나비 구름 바람 기차
    옥상 골목 시장 극장 온천 한옥 궁궐 등대 동굴 탑 폐허 우주선 연구소 놀이공원 수족관 미술관 노래방 술집 식당 편의점 지하철 다리 언덕 초원 사막
    떡볶이 김밥 만두 라면 호떡 감자 고구마 수박 딸기 복숭아`,
  thing: `거울 음악 게임 의자 사진 불꽃놀이 퍼즐 요리 책 아바타 영화 모닥불 침대 피아노 물고기 조명 보물 카드 펜 낚싯대 망원경 그네 등불 비밀방`,
  who: `친구들과 모두와 연인과 혼자서 가족과 초보자와 여러분과 동료들과`,
  doing: `수다 휴식 촬영 탐험 낚시 공부 춤 노래 잠자기 술래잡기 방탈출 독서 연주 산책 요리 명상`,
  sentence: [
    "{adj} {noun} 월드입니다.",
    "{who} {doing} 하기 좋은 {noun}입니다.",
    "{adj} {noun} 안에서 {who} {doing} 시간을 보내세요.",
    "{thing} 그리고 {thing} 있습니다.",
    "이 {noun} 어딘가에 {adj} {thing} 숨어 있습니다.",
    "{noun} 뒤에 {adj} {noun} 있어요.",
    "최대 {many}명까지 즐길 수 있습니다.",
    "{year}년의 {noun} 모습을 담았습니다.",
    "천천히 쉬다 가세요.",
    "아직 만드는 중입니다!",
    "모바일 지원.",
    "{thing} 스위치는 {noun} 입구에 있습니다.",
    "매주 {hour}시에 {doing} 모임이 열립니다.",
    "당신은 {adj} {noun}에서 눈을 뜹니다.",
    "{pure} 님의 음악을 사용했습니다.",
    "{noun}에서 찾은 {thing}, 그리고 {thing}.",
  ],
  title: [
    "{adj} {noun}",
    "{adj} {noun}",
    "{noun}",
    "{noun}의 {noun}",
    "{adj} {noun}의 {noun}",
    "{pure}네 {noun}",
    "{doing} {noun}",
    "{noun} {dd}",
    "{noun}과 {noun}",
    "[{doing}] {adj} {noun}",
    "{noun} : {^coined}",
  ],
  nick: [
    "{adj}{noun}",
    "{adj} {noun}",
    "{noun}{num}",
    "{given}{num}",
    "{adj}{noun}{dd}",
    "{pure}",
    "{pure}{num}",
    "{noun}_{noun}",
    "{noun}좋아",
    "{pure}이네{noun}",
    "{noun}먹는{noun}",
    "ㅇㅇ{num}",
  ],
} as const;
